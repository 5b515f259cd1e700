/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a container and their memory, swept again and again.
 *
 * Memory is RSS minus SHR, as Ray ranks it: what the process alone holds, without the object store
 * that all of them map. A sweep lists /proc and reads statm. Of many processes most rest, so a
 * sweep reads those that change, and some of the others in turn. The statm of those that change
 * stays open (1 us a reading instead of 5); if the process is gone, the descriptor gives ESRCH even
 * if the PID was reused. For those that rest, the inode of their directory shows that they are the
 * same.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_PROCESSES_H
#define AFTERGLOW_SIDECAR_SAMPLE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_parse.h"

/* Further processes are counted, but not tracked. */
#define PROCESSES_MAX 12000
#define PROCESSES_TOP_MAX 32

#define GROWTH_UNKNOWN INT64_MIN

struct process {
	pid_t pid; /* in the container's PID namespace */
	int64_t rss, shared; /* bytes, at the last sweep */
	int64_t growth; /* bytes of RSS-SHR per second over the last seconds, GROWTH_UNKNOWN at first sight */
	char name[PROCESS_NAME_MAX];
	char command[PROCESS_COMMAND_MAX];
};

/* RSS minus SHR. */
static inline int64_t process_own(const struct process *p)
{
	return p->rss - p->shared;
}

struct process_table;

/*
 * launcher is the launcher's PID. When it is 1 the container has a PID namespace
 * of its own and every process in root_fd's /proc counts; otherwise only the
 * launcher and its descendants do. root_fd stays the caller's.
 */
struct process_table *process_table_new(int root_fd, pid_t launcher, struct err *err);
void process_table_free(struct process_table *t);

/* Finds new and ended processes, and reads the memory of all. now_ns: CLOCK_BOOTTIME. */
int process_table_sweep(struct process_table *t, int64_t now_ns, struct err *err);

/*
 * The same, but with more than a few hundred processes it reads only those with memory that changed
 * lately, the largest and the new ones, and a sixteenth of the others. So it finds a zombie among
 * the others only when their turn comes.
 */
int process_table_sweep_active(struct process_table *t, int64_t now_ns, struct err *err);

/* Reads at most max of those that a sweep leaves out, in turn. Returns how many processes it went past: all of them have been read
 * when these add up to their number. */
size_t process_table_read_resting(struct process_table *t, int64_t now_ns, size_t max);

/* Bytes of RSS-SHR of all, as read last. */
int64_t process_table_own(const struct process_table *t);

/*
 * Reads only the processes that process_table_top returned last: a sample between
 * two sweeps that costs no more than ten processes.
 */
void process_table_glance(struct process_table *t, int64_t now_ns);

/* Copies the n largest by RSS-SHR, largest first; returns how many. Names are at most two seconds old, and younger
 * than the last MiB of change. */
size_t process_table_top(struct process_table *t, int64_t now_ns, struct process *ret_top, size_t n);

/*
 * Reads some names again. This costs at most a thousandth of a core, however often it is called. If
 * the memory of a process does not change, its name is at most half a minute old; with thousands of
 * processes, some minutes.
 */
void process_table_refresh_names(struct process_table *t, int64_t now_ns);

/* Whether names of new processes were read since the last sweep, and no more come for now. */
bool process_table_new_names(const struct process_table *t);

/* All processes of the last sweep by what they are. */
void process_table_components(const struct process_table *t, struct components *ret_components);

/* The first process of that name, 0 if there is none. */
pid_t process_table_find(const struct process_table *t, const char *name);

/*
 * Whether that process is gone or dying: a process with much memory takes seconds from its signal
 * to its end.
 */
bool process_table_dying(const struct process_table *t, pid_t pid);

/* Calls fn for each process of the last sweep; its name may be as old as process_table_refresh_names says. */
void process_table_each(const struct process_table *t, void (*fn)(const struct process *p, void *arg), void *arg);

/* Processes seen in the last sweep, tracked or not, without those that were found to have ended since. */
size_t process_table_count(const struct process_table *t);

#endif
