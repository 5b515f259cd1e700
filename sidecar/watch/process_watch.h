/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ray's own processes in a container, asks the launcher to watch them, and keeps what the
 * launcher or /proc says about their ends until the container's end.
 *
 * Ray's processes are recognized by their command lines. Between fork and exec a child has its
 * parent's command line, so a process is not counted if its parent is of the same kind. At most
 * PROCESS_WATCH_MAX processes are watched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/ray/ray_process.h"
#include "sidecar/sample/history.h"
#include "sidecar/sample/processes.h"

#define PROCESS_WATCH_MAX 32 /* of LAUNCH_WATCHED_MAX; the rest is for workers */
#define PROCESS_ENDS_MAX 16

struct process_watch {
	struct watched_ray_process {
		pid_t pid;
		unsigned long long start; /* clock ticks since boot, which the launcher checks */
		/* RAY_PROCESS_NONE: a child that looks like its parent until its exec */
		enum ray_process_kind kind;
		enum ray_process_kind looks; /* the kind by its latest command line */
		bool seen; /* in the present look */
		bool unwatched; /* the launcher does not watch it */
		int64_t gone_ns; /* when it was first found missing; 0: it lives */
	} list[PROCESS_WATCH_MAX];
	size_t n;
	struct ray_process_end ends[PROCESS_ENDS_MAX]; /* in the order of their times */
	size_t n_ends;
	int64_t looked_ns; /* the time of the last sweep that was used */
	int64_t reported_ns; /* ends up to this time were reported while the container lived */
	int64_t vital_ns; /* the last reported end of raylet or the GCS server; 0: none */
};

/*
 * Save the processes into the history, and restore them from the history of a previous sidecar.
 * Only the counts and times of r need to be valid; the restore checks the rest.
 */
void process_watch_save(const struct process_watch *w, struct life_ray *r);
void process_watch_restore(struct process_watch *w, const struct life_ray *r);

/* Asks the launcher to watch the process of that start. */
typedef void (*process_watch_order_fn)(pid_t pid, unsigned long long start, void *arg);

/*
 * After a sweep at swept_ns: finds new processes and notes those that are gone. Does nothing if it
 * has seen that sweep.
 */
void process_watch_look(struct process_watch *w, int root_fd, const struct process_table *t,
			int64_t swept_ns, process_watch_order_fn order, void *arg);

/*
 * Take the launcher's message that a process has ended, or that the launcher cannot watch it. A
 * process that is not in the list is ignored.
 */
void process_watch_ended(struct process_watch *w, pid_t pid, bool status_known, int wait_status,
			 int64_t ended_ns);
void process_watch_set_unwatched(struct process_watch *w, pid_t pid);

/*
 * To be called at the container's end: processes that are missing count as ended, because the
 * launcher will report nothing more.
 */
void process_watch_finish(struct process_watch *w);

/* Whether a process of that kind lives. */
bool process_watch_lives(const struct process_watch *w, enum ray_process_kind kind);
/* The same, or it ended less than a second before ended_ns, so together with the container. */
bool process_watch_lived_until(const struct process_watch *w, enum ray_process_kind kind,
			       int64_t ended_ns);
/*
 * Appends raylet and the GCS server if they live on after the container's end, as `ray start`
 * without --block leaves them behind: "raylet (PID 12), gcs_server (PID 9)". root_fd has their
 * /proc.
 */
void process_watch_add_survivors(const struct process_watch *w, int root_fd, struct strbuf *out);

/*
 * Whether Ray goes on after that end: a raylet of before is alive, and no GCS server ended at about
 * that time, as it does when Ray is stopped; then other raylets end within ten seconds. `ray start`
 * ends Ray for want of any process.
 */
bool process_watch_goes_on(const struct process_watch *w, const struct ray_process_end *end);

/* Whether `ray start` or a process that it starts is alive. */
bool process_watch_any_lives(const struct process_watch *w);
