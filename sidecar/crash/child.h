/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of ours that works for the recorder: started with a few descriptors
 * and nothing else of ours, an empty environment, its output collected up to a limit, ended when its
 * time is over. The event loop never waits for it; it dies with the recorder.
 */
#ifndef AFTERGLOW_SIDECAR_CRASH_CHILD_H
#define AFTERGLOW_SIDECAR_CRASH_CHILD_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define CHILD_ARGS_MAX 16
#define CHILD_FDS_MAX 3 /* the child has them as 3, 4 and 5 */
#define CHILD_STDERR_MAX 4096

struct child_work {
	const char *program; /* a name: it lies beside this program */
	const char *args[CHILD_ARGS_MAX]; /* after the name; ends with NULL */
	int fds[CHILD_FDS_MAX]; /* stay the caller's */
	size_t n_fds;
	size_t output_max; /* of stdout; what is beyond is dropped */
	size_t extra_max; /* not 0: a pipe more, the descriptor after fds */
	int64_t within_ns;
};

struct child_result {
	bool exited_well; /* exit code 0 */
	bool timed_out;
	int status; /* as waitpid gives it */
	const char *output, *extra, *errors; /* until done returns */
	size_t output_len;
};

struct child;
typedef void (*child_done_fn)(const struct child_result *result, void *arg);

/* done is called once, never from within this call; the child is freed after it. */
int child_start(struct event_base *base, const struct child_work *work, child_done_fn done, void *arg,
		struct child **ret_child, struct err *err);

/* Kills it; done is not called. NULL is allowed. */
void child_cancel(struct child *c);

#endif
