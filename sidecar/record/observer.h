/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen of one container over time: its memory cgroup and processes, and
 * whether the OOM killer came by. No events, no clock of its own: the caller
 * says when.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_OBSERVER_H
#define AFTERGLOW_SIDECAR_RECORD_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/loop/errand.h"
#include "sidecar/kernel/kernel_log.h"
#include "sidecar/node/node_signals.h"
#include "sidecar/record/memory_watch.h"
#include "sidecar/record/process_watch.h"
#include "sidecar/record/cgroup_watch.h"
#include "sidecar/record/ray_watch.h"
#include "sidecar/record/snapshot.h"
#include "sidecar/record/spill_watch.h"
#include "sidecar/report/report.h"
#include "sidecar/sample/history.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"
#include "sidecar/sample/ray_node.h"
#include "sidecar/sample/sampler.h"
#include "sidecar/sample/sweep_plan.h"

struct observer {
	int root_fd; /* the container's root, O_PATH; -1: the launcher sent none */
	struct kernel_log kernel; /* opened by the owner, for it needs more than the root; closed here */
	struct memcg memcg; /* version 0: could not be opened */
	struct cgroup_watch cgroups; /* around it; read through observer_read_memory */
	bool cgroup_shared; /* foreign processes share it; set by the owner, which knows for whom the cgroup was made */
	const char *cgroup_unseen; /* as in struct observation */
	pid_t command; /* as the container's /proc numbers it, 0 unknown */
	pid_t launcher; /* likewise */
	struct node_signals signals; /* as the node agent saw them */
	struct process_table *table; /* NULL: could not be opened */
	struct history *history;
	const char *const *collect; /* patterns of files that go into its bundles, ends with NULL; NULL: none */
	struct ray_watch *ray; /* NULL: no root, no memory */
	struct errand message; /* writes the termination message */
	struct errand files; /* looks up paths in the container; busy: one of its filesystems does not answer */
	struct process_watch processes; /* Ray's own */
	int64_t process_oom_ns; /* when the OOM killer took a process, as was reported last; 0: never */
	const struct hooks *hooks; /* the owner's; NULL: none */
	const struct spill_watch *spill; /* likewise */
	const struct memory_watch *growth; /* likewise */
	/* Told of its report when the bundle has a name and is not committed yet; NULL: nobody. */
	void (*named)(const struct report *r, void *arg);
	void *named_arg;
	/* Set in a child that writes the bundle: called in place of postmortem_named, which has to happen in the parent. */
	void (*naming)(const struct report *r, void *arg);
	void *naming_arg;
	struct sampler sampler;
	uint64_t samples; /* taken by this sidecar */
	int64_t delay_ns; /* from the last one to the next, as chosen */
	struct memory baseline; /* counters as they were when nothing had happened */
	struct limits limits; /* likewise */
	/* The counters as they were read last, also after that snapshot; of oom_group_kill, what the command survived. */
	struct memory latest;
	int64_t latest_ns; /* 0: never */
	int64_t group_seen_ns; /* since when oom_group_kill shows more than that; 0: it does not */
	int64_t limit_met_ns; /* first sample whose peak was at the own limit; 0: none, 1: nobody knows since when */
	struct snapshot last, previous; /* previous: the one before last, or some more before: 20 ms older, or more */
	int64_t swept_ns, swept_usage; /* the last sweep; between sweeps a snapshot has only its largest read anew */
	struct sweep_plan sweeps;
	/* When the processes read last accounted for the cgroup's anonymous memory: that, and what they had together. */
	int64_t explained_anon, explained_own;
	size_t read_past; /* processes that were read or passed over since then to find out who changed */
	int64_t remembered_ns; /* the last sample that went into the history */
	struct ray_node node;
	bool end_told; /* its end is reported: its history is not written any more */
	int64_t unix_shift_ns; /* of a life before the machine's restart: its clock against that of now */
	int64_t shmem_at_start; /* as the first reading of the counters had it */
	/* Since the OOM killer's visit that the counters told of: */
	int64_t oom_seen_ns; /* 0: none */
	int64_t oom_last_ns; /* its latest visit since; the same, as a rule */
	struct snapshot before_oom; /* the last one before it */
	bool others_end; /* we end the others, too: who is gone first says nothing any more */
	char victim[PROCESS_NAME_MAX]; /* "" while unknown */
	pid_t victim_pid;
	int64_t victim_rss;
};

/*
 * Takes root_fd and opens what can be opened. Fails only without memory for the history: a missing
 * cgroup or /proc is a fact for the report, not an error; err then tells of it.
 */
int observer_open(struct observer *o, int root_fd, pid_t launcher, const struct handed_cgroup *cgroup, struct err *err);
void observer_close(struct observer *o);

/* The container has its cgroup for itself: those below it are looked for, and count too. */
void observer_look_below(struct observer *o);

/* The container has its cgroup for itself from its start on: what the counters show by now is of its life. */
void observer_count_from_start(struct observer *o);

/* Limits other than memory's as they are now. All 0 where the container's filesystems do not answer. */
void observer_read_limits(struct observer *o, pid_t launcher, struct limits *ret_limits);

/* The counters of all its cgroups. at_end: it is dying, and there may be no other time to read. */
int observer_read_memory(struct observer *o, int64_t now_ns, bool at_end, struct memory *ret_memory);

/* Of each reading, before it becomes the latest. */
void observer_note_peak(struct observer *o, const struct memory *memory, int64_t at_ns);

/*
 * Of each reading, before it becomes the latest: how many kills of a whole group the command has survived. One is counted
 * before any process of it is gone: it is survived when the command lives, and does not die, a second later.
 */
int64_t observer_groups_survived(struct observer *o, const struct memory *memory, bool command_dies, int64_t now_ns);

/* Reads what may have changed anew; returns the delay in ns until the next time. */
int64_t observer_sample(struct observer *o, int64_t now_ns);

/* The baseline is that of a sidecar before us: what was counted in cgroups that are gone by now is in it no more. */
void observer_resume_counters(struct observer *o, int64_t now_ns);

/*
 * The visit of the OOM killer is dealt with: the counters that its report was made of become the baseline. What was counted
 * since, while the report was written, is news to the next sample. The caller has the tree of cgroups forget it.
 */
void observer_forget_oom(struct observer *o, const struct memory *told);

/* The largest of the earlier snapshot that has ended by the later one; NULL: none. */
const struct process *snapshot_victim(const struct snapshot *before, const struct snapshot *after);

/*
 * What that victim held, in bytes; 0: another process that was not small has ended as well, so the largest is only the likeliest.
 * The kernel may take a smaller one for its oom_score_adj, and with that memory free the largest may have come to its own end.
 * command: PID of the container's command, of whose end the launcher tells; 0: not known.
 */
int64_t snapshot_victim_size(const struct snapshot *before, const struct snapshot *after,
			     const struct process *victim, pid_t command);

/* After the death: who of the snapshot before the OOM is gone. Sets victim if it can be told. */
void observer_find_victim(struct observer *o, const struct snapshot *before, int64_t now_ns);

/* Whether more than the command has ended by the later snapshot. */
bool snapshot_others_ended(const struct snapshot *before, const struct snapshot *after, pid_t command);

/* After the command's end: whether others of that snapshot are gone too, or it cannot be told. */
bool observer_others_ended(const struct observer *o, const struct snapshot *before, int64_t now_ns);

/* Whether the command is on its way out: what happens to it is no longer that of a container that lives on. */
bool observer_command_dies(const struct observer *o);

/* Bytes resident of the command in that snapshot, 0 when it is not among the largest. */
int64_t observer_command_rss(const struct observer *o, const struct snapshot *s);

/*
 * What there was before the end: the last snapshot, or the one before it when the
 * last was taken while the processes were already going.
 */
struct snapshot observer_last_of_life(const struct observer *o, int64_t ended_ns);

#endif
