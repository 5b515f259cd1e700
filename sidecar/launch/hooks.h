/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that the sidecar has run in the container: each in a process group
 * of its own, which is killed when its time is over or its first process ends.
 */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_HOOKS_H
#define AFTERGLOW_SIDECAR_LAUNCH_HOOKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/protocol.h"

struct hook {
	pid_t pid; /* 0: a free place */
	int id;
	int64_t kill_at_ns; /* INT64_MAX: killed already */
	bool timed_out;
	bool unheard; /* whoever asked for it is gone: nobody is told of its end */
};

struct hooks {
	struct hook running[LAUNCH_HOOKS_MAX];
};

/*
 * order is "ID SECONDS MAXBYTES COMMAND". Starts COMMAND with output_fd as its
 * stdout and stderr. Returns its PID, or a negative errno; *ret_id is the ID as
 * far as the order has one, else -1.
 */
pid_t hooks_run(struct hooks *h, const char *order, int output_fd, const sigset_t *mask, int64_t now_ns, int *ret_id);

/* The hook whose first process pid is, or NULL. */
struct hook *hooks_find(struct hooks *h, pid_t pid);

/* When the next one has to be killed, INT64_MAX: none. */
int64_t hooks_next_ns(const struct hooks *h);
void hooks_kill_overdue(struct hooks *h, int64_t now_ns);

/* Nobody listens any more: not to their ends either, should another sidecar connect meanwhile. */
void hooks_kill_all(struct hooks *h);

#endif
