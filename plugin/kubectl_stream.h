/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl with an input, and gives its output piece by piece. Once stream_catch_signals was called, SIGINT, SIGTERM and SIGHUP
 * end the kubectl that runs, and the caller gets the chance to tidy up.
 */
#ifndef AFTERGLOW_PLUGIN_KUBECTL_STREAM_H
#define AFTERGLOW_PLUGIN_KUBECTL_STREAM_H

#include <stddef.h>

#include "plugin/kubectl.h"

/* Negative: the rest is not wanted, and kubectl is ended. */
typedef int (*stream_data_fn)(void *arg, const void *data, size_t len, struct err *err);

struct stream {
	const char *input;	/* for kubectl's stdin; NULL: it is empty */
	stream_data_fn on_data; /* NULL: the output is thrown away */
	void *arg;
	int stderr_to; /* the descriptor of a file for kubectl's stderr; 0: it is ours */
	bool shielded; /* a signal neither ends it nor keeps it from starting: for tidying up */
};

void stream_catch_signals(void);

/* As kubectl_json; -EINTR: a signal came. */
int kubectl_stream(const struct kubectl *kubectl, const char *const *args, const struct stream *stream, struct err *err);

#endif
