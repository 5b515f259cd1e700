/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a table of the processes of a container and their memory, which repeated sweeps update.
 *
 * Memory is RSS minus SHR, as Ray ranks it: the memory of the process alone, without the object
 * store that all processes map. A sweep lists /proc and reads statm. If there are many processes,
 * the memory of most does not change, so a sweep reads those that change, and some of the rest in
 * turn. The statm of a process that changes stays open (1 us a reading instead of 5); if the
 * process is gone, the descriptor gives ESRCH even if the PID was reused. For a process that does
 * not change, the inode of its directory shows that it is still the same process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "sidecar/sample/components.h"
#include "sidecar/sample/proc_parse.h"
#include "sidecar/sample/task_memory.h"

/*
 * The number of processes in a table, and about that of all tables together: a process in the
 * container can connect as a launcher again and again. Further processes are counted, but not
 * tracked.
 */
#define PROCESSES_MAX 12000
#define PROCESSES_OWN 256 /* that a table has room for, whatever the others have */
#define PROCESSES_TOP_MAX 32

#define GROWTH_UNKNOWN INT64_MIN

struct process {
	pid_t pid; /* in the container's PID namespace */
	int64_t rss, shared; /* bytes, at the last sweep */
	/* bytes of RSS-SHR per second over the last seconds, GROWTH_UNKNOWN at first sight */
	int64_t growth;
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
 * Does the same, but if there are more than a few hundred processes it reads only the processes
 * with memory that changed lately, the largest and new processes, and a sixteenth of the rest. So
 * it finds a zombie among the rest only when it is that process's turn.
 */
int process_table_sweep_active(struct process_table *t, int64_t now_ns, struct err *err);

/*
 * Reads at most max of the processes that a sweep leaves out, in turn. Returns how many processes
 * it went past; all have been read when these numbers add up to the number of processes.
 */
size_t process_table_read_resting(struct process_table *t, int64_t now_ns, size_t max);

/* The bytes of RSS-SHR of all processes together, as read last. */
int64_t process_table_own(const struct process_table *t);

/*
 * Reads only the processes that process_table_top returned last: a sample between
 * two sweeps that costs no more than ten processes.
 */
void process_table_glance(struct process_table *t, int64_t now_ns);

/*
 * Copies the n largest processes by RSS-SHR, the largest first, and returns how many it copied. A
 * name is at most two seconds old, and was read again since the memory changed by a MiB.
 */
size_t process_table_top(struct process_table *t, int64_t now_ns, struct process *ret_top,
			 size_t n);

/*
 * Reads some names again. This costs at most a thousandth of a core, however often it is called. If
 * the memory of a process does not change, its name is at most half a minute old; with thousands of
 * processes, some minutes.
 */
void process_table_refresh_names(struct process_table *t, int64_t now_ns);

/* Whether names of new processes were read since the last sweep, and no more come for now. */
bool process_table_new_names(const struct process_table *t);

/* Sums the memory of all processes of the last sweep by component. */
void process_table_components(const struct process_table *t, struct components *ret_components);

/*
 * To be called after a sweep, when names were refreshed: notes what each task and actor holds, with
 * its children.
 */
void process_table_note_tasks(struct process_table *t);
/* What was noted so far; NULL: nothing. */
const struct task_memory *process_table_tasks(const struct process_table *t);

/*
 * Processes that have ended and whose parents have not waited for them: each counts for the limit
 * of processes.
 */
struct zombies {
	uint32_t n;
	uint32_t
		/*
		 * how many of them are children of one process, if those are more than half; else 0
		 */
		of_parent;
	pid_t parent; /* that process; 0: there is none */
	char name[PROCESS_NAME_MAX]; /* its name; "" when not known */
};

/* Counts those of the last sweep. */
void process_table_zombies(const struct process_table *t, struct zombies *ret_zombies);

/* Whose a process is: the container's or not; unknown if the last sweep did not see it. */
enum process_owner { PROCESS_UNKNOWN, PROCESS_OURS, PROCESS_FOREIGN };
enum process_owner process_table_owner(const struct process_table *t, pid_t pid);

/* The first process of that name, 0 if there is none. */
pid_t process_table_find(const struct process_table *t, const char *name);

/*
 * Whether that process is gone or dying: a process with much memory takes seconds from its signal
 * to its end.
 */
bool process_table_dying(const struct process_table *t, pid_t pid);

/*
 * Whether the process that had that PID at at_ns (CLOCK_BOOTTIME) is alive and not dying. While the
 * kernel writes its core, it is dying.
 */
bool process_table_lives_since(const struct process_table *t, pid_t pid, int64_t at_ns);

/*
 * Calls fn for each process of the last sweep; its name may be as old as
 * process_table_refresh_names says.
 */
void process_table_each(const struct process_table *t,
			void (*fn)(const struct process *p, void *arg), void *arg);

/*
 * Processes seen in the last sweep, tracked or not, without those that were found to have ended
 * since.
 */
size_t process_table_count(const struct process_table *t);

/*
 * How many processes have ended since the table was made, as far as sweeps and glances have seen. A
 * rise tells of an end also where a new process has taken its place in the count.
 */
int64_t process_table_ends(const struct process_table *t);
