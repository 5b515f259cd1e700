/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs commands for the sidecar in the container. Each has a process group of its
 * own, which is killed when its time is over or its first process ends.
 */
#pragma once

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
	bool unheard; /* the sidecar that asked for it is gone, so its end is not reported */
};

struct hooks {
	struct hook running[LAUNCH_HOOKS_MAX];
};

/*
 * Starts COMMAND of order, which is "ID SECONDS MAXBYTES COMMAND", with output_fd as its
 * stdout and stderr. Returns its PID, or a negative errno. *ret_id is the ID, or -1 if
 * the order has none.
 */
pid_t hooks_run(struct hooks *h, const char *order, int output_fd, const sigset_t *mask,
		int64_t now_ns, int *ret_id);

/* Finds the hook that has pid as its first process; NULL: there is none. */
struct hook *hooks_find(struct hooks *h, pid_t pid);

/* When the next hook must be killed, INT64_MAX: none. */
int64_t hooks_next_ns(const struct hooks *h);
void hooks_kill_overdue(struct hooks *h, int64_t now_ns);

/*
 * To be called when the sidecar is gone: kills the running hooks. Their ends are not reported, even
 * if another sidecar connects.
 */
void hooks_kill_all(struct hooks *h);
