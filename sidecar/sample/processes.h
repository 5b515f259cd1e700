/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a container and their memory, swept again and again.
 *
 * A sweep costs one getdents and one pread per process: /proc/PID/statm stays
 * open (1 us a read instead of 5), and a descriptor whose process is gone gives
 * ESRCH even if the PID was reused. Memory is RSS minus SHR, as Ray ranks it:
 * what the process alone holds, without the object store that all of them map.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_PROCESSES_H
#define AFTERGLOW_SIDECAR_SAMPLE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_parse.h"

/* More are counted, not tracked. */
#define PROCESSES_MAX 4096
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

/* Reads everything anew. now_ns: CLOCK_BOOTTIME. */
int process_table_sweep(struct process_table *t, int64_t now_ns, struct err *err);

/*
 * Only those that process_table_top named last are read anew: a sample between
 * two sweeps, at the price of ten processes.
 */
void process_table_glance(struct process_table *t, int64_t now_ns);

/* Copies the n largest by RSS-SHR, largest first; returns how many. Names are at most two seconds old, and younger
 * than the last MiB of change. */
size_t process_table_top(struct process_table *t, int64_t now_ns, struct process *ret_top, size_t n);

/*
 * All processes of the last sweep by what they are. The name of one whose memory does not change may be half
 * a minute old.
 */
void process_table_components(struct process_table *t, int64_t now_ns, struct components *ret_components);

/* The first process of that name, 0 if there is none. */
pid_t process_table_find(const struct process_table *t, const char *name);

/* Whether that process is gone or on its way out: one with much memory takes seconds from its signal to its end. */
bool process_table_dying(const struct process_table *t, pid_t pid);

/* Calls fn for each process of the last sweep; its name may be as old as process_table_components says. */
void process_table_each(const struct process_table *t, void (*fn)(const struct process *p, void *arg), void *arg);

/* Processes seen in the last sweep, tracked or not, without those that a glance found gone. */
size_t process_table_count(const struct process_table *t);

#endif
