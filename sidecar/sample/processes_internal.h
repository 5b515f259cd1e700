/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of the process table share these: processes.c lists the processes, process_memory.c
 * reads the memory of each, and process_names.c its name.
 */
#pragma once

#include <dirent.h>

#include "sidecar/sample/process_title.h"
#include "sidecar/sample/processes.h"

/* The memory of a tracked process at an earlier time, from which its growth is computed. */
struct mark {
	int64_t at_ns, own;
};

struct entry {
	pid_t pid;
	int statm_fd; /* -1: opened for each reading */
	ino_t inode; /* of its directory: a later process with the same PID has another inode */
	int64_t rss, shared, growth; /* as in struct process */
	bool ours; /* false: no process of this container */
	bool seen; /* in the sweep that is under way */
	bool ended; /* it holds no memory any more: a zombie, if it is still listed */
	uint8_t quiet; /* readings in a row that found it unchanged */
	pid_t ppid; /* its parent when it was first seen */
	/* the sweep that found it did not take it for ours, and it must be checked again */
	bool doubtful;
	int64_t first_ns; /* when it was first seen */
	int64_t named_ns; /* when its name was read, 0: never */
	int64_t named_own; /* its RSS-SHR at that time, bytes */
	uint64_t code; /* pages of its program's code */
	struct process_title *title; /* NULL: not ours */
	struct mark older, newer;
	/*
	 * the place of the task's name that it runs in struct task_memory, plus 1; 0: it runs none
	 */
	uint8_t task;
	int64_t task_peak; /* the most that this run has held, bytes */
	/* what it holds with its children, as of the last process_table_note_tasks */
	int64_t with_children;
};

struct process_table {
	DIR *proc;
	int proc_fd; /* of proc */
	pid_t launcher;
	int64_t page_size;
	struct entry *entries; /* by PID, ascending */
	size_t n, cap;
	unsigned int strays; /* of the sweep that is under way */
	size_t n_fds; /* descriptors of statm that are open */
	size_t count;
	int64_t ends; /* of ours that were seen alive */
	int64_t own; /* of all ours, as read last */
	size_t read_at; /* where the next reading of those that rest begins */
	int64_t named_ns; /* the last process_table_refresh_names */
	size_t name_at; /* where it continues */
	bool new_names; /* some names were read for the first time since the last sweep */
	bool naming; /* the last refresh read some names for the first time, so more may follow */
	pid_t largest[PROCESSES_TOP_MAX]; /* of the last process_table_top */
	size_t n_largest;
	/* indices of the largest entries, when all entries were last compared */
	size_t leaders[PROCESSES_TOP_MAX];
	size_t n_leaders;
	int64_t leaders_floor; /* no other entry had more at that time, bytes */
	struct task_memory *tasks; /* NULL: none was noted yet */
};

static inline int64_t entry_own(const struct entry *e)
{
	return e->rss - e->shared;
}

/* Reads PID/FILE below proc into buf, with a final NUL. Returns its length, or -errno. */
ssize_t process_read(const struct process_table *t, pid_t pid, const char *file, char *buf,
		     size_t size);

/* The entry of that PID; NULL: there is none. */
struct entry *process_lookup(const struct process_table *t, pid_t pid);

/* Releases what the entry holds. */
void entry_release(struct process_table *t, struct entry *e);

/*
 * Reads the memory of one of our processes, and keeps its descriptor while its memory changes. A
 * process without memory counts as ended; then returns false.
 */
bool process_measure(struct process_table *t, struct entry *e, int64_t now_ns);

/* Whether every sweep reads this process. */
bool process_is_active(const struct process_table *t, const struct entry *e);

/* Reads the name again if it may have changed, which matters for the largest processes. */
void process_name_now(struct process_table *t, struct entry *e, int64_t now_ns);

/* Whether so much memory came since its name was read that the name may be another by now. */
bool process_name_is_old(const struct entry *e);

/* To be called when the process ends, or runs another task: ends its run. */
void process_run_end(struct process_table *t, struct entry *e);

void process_describe(const struct entry *e, struct process *ret_process);

/* To be called when entries came, went or changed: the largest entries must be found again. */
void process_leaders_forget(struct process_table *t);
