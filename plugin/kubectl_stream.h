/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl with an input, and passes on its output piece by piece. Its stderr goes to ours as
 * it comes, made harmless to a terminal: an exec plugin may ask the user to log in, and what a pod
 * answers or a store is called may stand there. After stream_catch_signals, SIGINT, SIGTERM and
 * SIGHUP end the running kubectl and not this program, so that the caller can clean up.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

/*
 * Gets the next piece of the output. A negative result ends kubectl, and kubectl_stream returns it.
 */
typedef int (*stream_data_fn)(void *arg, const void *data, size_t len, struct err *err);

struct stream {
	const char *input; /* for kubectl's stdin; NULL: it is empty, or ours if `asks` */
	bool asks; /* an exec plugin may ask the user for something */
	bool quiet; /* its stderr is dropped */
	stream_data_fn on_data; /* NULL: the output is discarded */
	void *arg;
	bool shielded; /* signals do not end it or keep it from starting: for cleaning up */
};

/* Appends the output to arg, a struct strbuf. -EFBIG: it is full. */
int stream_into_strbuf(void *arg, const void *data, size_t len, struct err *err);

void stream_catch_signals(void);

/*
 * Runs kubectl with args (NULL at the end; at most KUBECTL_ARGS_MAX). Returns -ENOENT if there is
 * no kubectl, -EPROTO if its exit code is not 0, -EINTR if a signal came, and the errors of
 * on_data.
 */
int kubectl_stream(const struct kubectl *kubectl, const char *const *args,
		   const struct stream *stream, struct err *err);

/*
 * Parses what kubectl prints as JSON, which the caller owns. Its errors are those of
 * kubectl_stream, -EFBIG if the answer is larger than KUBECTL_ANSWER_MAX, -EPROTO if it is not
 * JSON.
 */
int kubectl_json(const struct kubectl *kubectl, const char *const *args, bool quiet,
		 cJSON **ret_json, struct err *err);

/*
 * Prints what kubectl prints, through terminal.h. A signal ends kubectl, and then this process as
 * if it had not been caught.
 */
int kubectl_print(const struct kubectl *kubectl, const char *const *args, struct err *err);
