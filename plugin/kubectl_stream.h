/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl with an input, and passes on its output piece by piece. After stream_catch_signals,
 * SIGINT, SIGTERM and SIGHUP end the running kubectl and not this program, so that the caller can
 * clean up.
 */
#pragma once

#include <stddef.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

/* Gets the next piece of the output. A negative result ends kubectl, and kubectl_stream returns it. */
typedef int (*stream_data_fn)(void *arg, const void *data, size_t len, struct err *err);

struct stream {
	const char *input;	/* for kubectl's stdin; NULL: it is empty */
	stream_data_fn on_data; /* NULL: the output is discarded */
	void *arg;
	bool shielded; /* signals do not end it or keep it from starting: for cleaning up */
};

/* Appends the output to arg, a struct strbuf. -EFBIG: it is full. */
int stream_into_strbuf(void *arg, const void *data, size_t len, struct err *err);

void stream_catch_signals(void);

/*
 * Runs kubectl with args. Its stderr goes to ours when it has ended, up to STREAM_ERRORS_MAX bytes,
 * and made harmless to a terminal, because it may contain a pod's answer or the names of a store.
 * Nothing can be asked there, so kubectl_json must have been called before: exec plugins that ask
 * the user for something do it then. Its errors are those of kubectl_json, those of on_data, and
 * -EINTR if a signal came.
 */
#define STREAM_ERRORS_MAX 4096
int kubectl_stream(const struct kubectl *kubectl, const char *const *args, const struct stream *stream, struct err *err);
