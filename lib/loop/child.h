/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program that works for us: it gets a few descriptors and nothing else of
 * ours, its output is collected or passed on by lines, and it is killed when its time is over.
 * The event loop never waits for it; it dies with us. When memory runs out, the OOM killer takes it
 * before others, unless we are an ordinary user's process that is not dumpable (lib/undumpable.h):
 * then it takes the largest of the container's processes, which a child is that fills the memory.
 */
#pragma once

#include <event2/event.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define CHILD_FDS_MAX 4 /* the child has them as 3, 4, 5 and 6 */

struct child;

/*
 * Gets a line of stdout, without its newline; lines longer than line_max are left out. May call
 * child_extend and nothing else.
 */
typedef void (*child_line_fn)(const char *line, size_t len, void *arg);

struct child_work {
	const char *path; /* without a slash it is looked for in PATH */
	const char *const *argv;
	char *const *env; /* NULL: empty */
	int fds[CHILD_FDS_MAX]; /* stay the caller's */
	size_t n_fds;
	size_t output_max; /* bytes of stdout; further bytes are dropped */
	child_line_fn on_line; /* not NULL: stdout goes there, and none of it into the result */
	size_t line_max;
	size_t errors_max; /* of stderr; 0: it is ours */
	size_t extra_max; /* not 0: a pipe more, the descriptor after fds */
	bool no_new_privs; /* it cannot gain rights, by set-user-ID programs for instance */
	int64_t within_ns; /* then SIGKILL; child_extend begins it anew */
};

struct child_result {
	bool exited_well; /* exit code 0 */
	bool timed_out;
	int status; /* as waitpid gives it */
	const char *output, *extra, *errors; /* until done returns */
	size_t output_len;
};

typedef void (*child_done_fn)(const struct child_result *result, void *arg);

/*
 * done is called once, never from within this call; the child is freed before it, so that its place
 * may be taken again. A program that hangs in the kernel is not waited for, and done comes when it
 * is gone. Fails with execve's errno.
 */
int child_start(struct event_base *base, const struct child_work *work, child_done_fn done,
		void *arg, struct child **ret_child, struct err *err);

/* Gives it within_ns from now on. */
void child_extend(struct child *c, int64_t within_ns);

/* Kills it; done is not called. Does not wait for its end. NULL is allowed. */
void child_cancel(struct child *c);

/* Sets the path of a program that is installed beside this one. */
int child_beside(const char *program, char ret_path[static PATH_MAX], struct err *err);
