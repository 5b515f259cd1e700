/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ray's workers in a container, asks the launcher to watch them, and keeps how the latest of them
 * ended. Raylet reaps its workers and logs only that they died. From Linux 6.15 on the launcher reads
 * the wait status after that; before, only if it looks before raylet does.
 *
 * At most WORKER_WATCH_MAX workers are watched at a time. One that lives for less than the time between
 * two sweeps may be missed. One that the launcher cannot watch (no pidfd_open, no descriptor) keeps its
 * place until it is gone, so that the launcher is asked once. A new sidecar begins anew: the launcher
 * tells it the ends of what a previous one had it watch.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_WORKER_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_WORKER_WATCH_H

#include "sidecar/record/process_watch.h"

#define WORKER_WATCH_MAX 128
#define WORKER_ENDS_MAX 64

struct worker_watch {
	struct watched_worker {
		pid_t pid;
		unsigned long long start; /* clock ticks since boot */
		bool seen; /* in the present look */
		int64_t gone_ns; /* when it was first found missing; 0: it lives */
	} list[WORKER_WATCH_MAX];
	size_t n;
	struct worker_end {
		pid_t pid; /* 0: a free place */
		bool status_known;
		int wait_status; /* as waitpid(2) gives it */
		int64_t ended_ns; /* CLOCK_BOOTTIME */
	} ends[WORKER_ENDS_MAX]; /* a ring */
	size_t n_ends; /* how many there were in all */
	int64_t looked_ns; /* the time of the last sweep that was used */
};

/* After a sweep at swept_ns: has new workers watched. Does nothing if it has seen that sweep. */
void worker_watch_look(struct worker_watch *w, int root_fd, const struct process_table *t,
		       int64_t swept_ns, process_watch_order_fn order, void *arg);

/* Takes the launcher's message that a process has ended. */
void worker_watch_ended(struct worker_watch *w, pid_t pid, bool status_known, int wait_status,
			int64_t ended_ns);

/* The end of the worker of that PID that is nearest to at_ns, and no more than a minute from it; NULL: not known. */
const struct worker_end *worker_watch_end_of(const struct worker_watch *w, pid_t pid,
					     int64_t at_ns);

#endif
