/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches processes of the container for the sidecar, and reports how each ended. The
 * kernel itself reports that only to their parents, which are Ray's processes.
 *
 * Theory of operation. A pidfd becomes readable when its process has ended. From
 * then until its parent reaps it, the process is a zombie, and /proc/PID/stat
 * shows its wait status (field 52) to us, who have its uid. From Linux 6.15 on,
 * the pidfd gives the status after that too (PIDFD_GET_INFO). The launcher reaps its
 * own children itself. If the status is lost, the sidecar learns only of the end.
 */
#pragma once

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/protocol.h"

#define WATCHED_STATUS_UNKNOWN (-1)

struct watched_process {
	pid_t pid; /* 0: a free place */
	int pidfd;
	/* its start in clock ticks since boot; with the PID it identifies the process */
	unsigned long long start;
	pid_t parent; /* when the watch began; if that ends before it, the launcher is its parent */
	int status; /* as waitpid gave it to us; WATCHED_STATUS_UNKNOWN until then */
	/*
	 * the time of an end that could not be reported, because there was no sidecar; 0: it lives,
	 * as far as is known
	 */
	int64_t ended_ns;
};

struct watched {
	struct watched_process list[LAUNCH_WATCHED_MAX];
};

/*
 * Starts to watch the process of order, which is "PID START". *ret_pid is that PID, or 0 if order
 * has none. Returns 0, or a negative errno if the process is not watched.
 */
int watched_add(struct watched *w, const char *order, pid_t *ret_pid);

/*
 * Fills LAUNCH_WATCHED_MAX entries for poll(2), which ignores the entries of free places. Returns
 * how many of them there are up to the last one that is in use: poll(2) takes no more than the
 * limit on open files.
 */
nfds_t watched_poll(const struct watched *w, struct pollfd fds[static LAUNCH_WATCHED_MAX]);

/* To be called when the launcher has reaped pid, which ended with status. */
void watched_reaped(struct watched *w, pid_t pid, int status);

/*
 * To be called when the launcher has reaped parent, before that end gets its time: reports the
 * children that parent had reaped, as they ended before it. Both ends may have come at once.
 */
void watched_parent_ended(struct watched *w, pid_t parent, int socket_fd);

/*
 * To be called after poll(2): reports each process that has ended to the sidecar, and stops
 * watching it. Without a sidecar (socket_fd -1), the end is kept for watched_again.
 */
void watched_tell(struct watched *w, const struct pollfd fds[static LAUNCH_WATCHED_MAX],
		  int socket_fd);

/* To be called after hello to a sidecar: reports the ends that were kept. */
void watched_again(struct watched *w, int socket_fd);

/*
 * Reports all watched processes that have ended by now. To be called before the container's own end
 * is reported.
 */
void watched_flush(struct watched *w, int socket_fd);
