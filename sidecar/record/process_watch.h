/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray's own processes of one container: the launcher is asked to watch them, and what it or /proc tells of their ends
 * is kept until the container's end.
 *
 * A process is taken for Ray's by its command line. Between fork and exec a child has that of its parent: whose parent
 * is of the same kind is none. Bounded: what a container starts beyond PROCESS_WATCH_MAX is not watched.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_PROCESS_WATCH_H
#define AFTERGLOW_SIDECAR_RECORD_PROCESS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/launch/protocol.h"
#include "sidecar/ray/ray_process.h"
#include "sidecar/sample/processes.h"

#define PROCESS_WATCH_MAX LAUNCH_WATCHED_MAX
#define PROCESS_ENDS_MAX 16

struct process_watch {
	struct watched_ray_process {
		pid_t pid;
		unsigned long long start; /* as the launcher is told */
		enum ray_process_kind kind; /* RAY_PROCESS_NONE: a child of one that looks like it until its exec */
		enum ray_process_kind looks; /* what its command line said last */
		bool seen; /* in the look that is under way */
		bool untold; /* the launcher does not watch it */
		int64_t gone_ns; /* when it was missed first; 0: it lives */
	} list[PROCESS_WATCH_MAX];
	size_t n;
	struct ray_process_end ends[PROCESS_ENDS_MAX]; /* in the order of their times */
	size_t n_ends;
	int64_t looked_ns; /* the sweep that was looked at last */
};

/* Asks the launcher to watch the process of that start. */
typedef void (*process_watch_order_fn)(pid_t pid, unsigned long long start, void *arg);

/* After a sweep at swept_ns: finds new ones and misses those that are gone. Does nothing when that sweep was looked at. */
void process_watch_look(struct process_watch *w, int root_fd, const struct process_table *t, int64_t swept_ns,
			process_watch_order_fn order, void *arg);

/* The launcher's word. A process that is not one of ours is ignored. */
void process_watch_ended(struct process_watch *w, pid_t pid, bool status_known, int wait_status, int64_t ended_ns);
void process_watch_untold(struct process_watch *w, pid_t pid);

/* The container is over: those that are missed have ended, and nothing more will be told of them. */
void process_watch_finish(struct process_watch *w);

/* Whether a process of that kind lives. */
bool process_watch_lives(const struct process_watch *w, enum ray_process_kind kind);
/* The same, or it ended within a second before that time: with the container. */
bool process_watch_lived_until(const struct process_watch *w, enum ray_process_kind kind, int64_t ended_ns);
/* Whether any of those lives that `ray start` begins, or itself. */
bool process_watch_any_lives(const struct process_watch *w);

#endif
