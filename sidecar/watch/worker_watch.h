/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ray's workers and other programs in a container, has the launcher watch them, and keeps how
 * the latest of them ended: their parents learn of that, and seldom write it down.
 *
 * A process is watched from the first sweep that shows it. Ray's own processes are process_watch's,
 * and the command's end is the container's. A worker keeps its place until it is gone, so that the
 * launcher is asked once; another process keeps it two seconds longer, so that a program which
 * forks all the time costs the launcher OTHERS_MAX orders in that time. A new sidecar begins anew:
 * the launcher tells it the ends of what a previous one had it watch.
 */
#pragma once

#include "sidecar/verdict/launcher_words.h"
#include "sidecar/watch/process_watch.h"

#define WORKER_WATCH_MAX 128
#define OTHERS_MAX 32 /* of these, processes that are no workers */
#define WORKER_ENDS_MAX 64

struct worker_watch {
	struct watched_worker {
		pid_t pid;
		unsigned long long start; /* clock ticks since boot */
		bool seen; /* in the present look */
		bool worker;
		int64_t gone_ns; /* when it was first found missing; 0: it lives */
		char name[PROCESS_NAME_MAX];
	} list[WORKER_WATCH_MAX];
	size_t n;
	/* a ring: of workers all, of others those by a signal */
	struct watched_end ends[WORKER_ENDS_MAX];
	size_t n_ends; /* how many there were in all */
	/* the latest end of another whose status could not be read; pid 0: none */
	struct watched_end unread;
	int64_t looked_ns; /* the time of the last sweep that was used */
};

/*
 * After a sweep at swept_ns: has new processes but the command watched. Does nothing if it has seen
 * that sweep.
 */
void worker_watch_look(struct worker_watch *w, int root_fd, const struct process_table *t,
		       pid_t command, int64_t swept_ns, process_watch_order_fn order, void *arg);

/* Takes the launcher's message that a process has ended. */
void worker_watch_ended(struct worker_watch *w, pid_t pid, bool status_known, int wait_status,
			int64_t ended_ns);

/*
 * The end of the worker of that PID that is nearest to at_ns, and no more than a minute from it;
 * NULL: not known.
 */
const struct watched_end *worker_watch_end_of(const struct worker_watch *w, pid_t pid,
					      int64_t at_ns);
