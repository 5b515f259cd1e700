/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of the container whose end the sidecar wants to hear of: how each
 * ended, which their parents (Ray's, not ours) would be told alone.
 *
 * Theory of operation. A pidfd becomes readable when its process has ended. From
 * then until its parent reaps it, the process is a zombie, and /proc/PID/stat
 * shows its wait status (field 52) to whoever has its uid, as we do. After that
 * the pidfd itself tells, from Linux 6.15 on (PIDFD_GET_INFO). A child of ours we
 * reap ourselves. Where none of them tells, the sidecar hears that it ended.
 */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_WATCHED_H
#define AFTERGLOW_SIDECAR_LAUNCH_WATCHED_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sidecar/launch/protocol.h"

#define WATCHED_STATUS_UNKNOWN (-1)

struct watched_process {
	pid_t pid; /* 0: a free place */
	int pidfd;
	unsigned long long start; /* clock ticks since boot: with the PID, which process it is */
	int status; /* as waitpid gave it to us; WATCHED_STATUS_UNKNOWN until then */
};

struct watched {
	struct watched_process list[LAUNCH_WATCHED_MAX];
};

/* order is "PID START". *ret_pid is its PID as far as it has one, else 0. 0, or a negative errno: it is not watched. */
int watched_add(struct watched *w, const char *order, pid_t *ret_pid);

/* Fills LAUNCH_WATCHED_MAX entries for poll(2); those of free places are ignored by it. */
void watched_poll(const struct watched *w, struct pollfd fds[static LAUNCH_WATCHED_MAX]);

/* We reaped pid, which ended with status. */
void watched_reaped(struct watched *w, pid_t pid, int status);

/* After poll(2): each that has ended is told to the sidecar, if there is one (socket_fd -1: none), and is not watched any more. */
void watched_tell(struct watched *w, const struct pollfd fds[static LAUNCH_WATCHED_MAX], int socket_fd);

/* The same, of all that have ended by now: before the sidecar is told of the container's end. */
void watched_flush(struct watched *w, int socket_fd);

#endif
