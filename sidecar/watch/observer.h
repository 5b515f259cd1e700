/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observes a container over time: its memory cgroups, its processes, and the OOM killer's kills. It
 * has no events and no clock of its own; the caller decides when it samples, and passes the time
 * (CLOCK_BOOTTIME).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/loop/errand.h"
#include "lib/stack_groups.h"
#include "sidecar/kernel/kernel_log.h"
#include "sidecar/node/node_signals.h"
#include "sidecar/report/report.h"
#include "sidecar/sample/history.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/processes.h"
#include "sidecar/sample/ray_node.h"
#include "sidecar/sample/sampler.h"
#include "sidecar/sample/sweep_plan.h"
#include "sidecar/watch/cgroup_watch.h"
#include "sidecar/watch/memory_most.h"
#include "sidecar/watch/memory_watch.h"
#include "sidecar/watch/process_watch.h"
#include "sidecar/watch/ray_watch.h"
#include "sidecar/watch/snapshot.h"
#include "sidecar/watch/spill_watch.h"
#include "sidecar/watch/worker_watch.h"

#define DRIVER_WAITS_MAX (STACK_MAIN_MAX + 120)

struct observer {
	int root_fd; /* the container's root, O_PATH; -1: the launcher sent none */
	struct kernel_log kernel; /* opened by the owner; closed by observer_close */
	struct memcg memcg; /* the container's own cgroup; version 0: it could not be opened */
	struct cgroup_watch cgroups; /* the cgroups around it; read by observer_read_memory */
	bool cgroup_shared; /* processes of others share the cgroup; set by the owner */
	const char *cgroup_unseen; /* as in struct observation */
	pid_t command; /* its PID in the container's /proc, 0: unknown */
	pid_t launcher; /* likewise */
	struct node_signals signals; /* signals that the node agent saw */
	struct process_table *table; /* NULL: /proc could not be opened */
	struct history *history;
	/* patterns of files that go into bundles, NULL at the end; NULL: none */
	const char *const *collect;
	struct ray_watch *ray; /* NULL: there is no root or no memory */
	struct errand
		/*
		 * reads paths in the container and is late; busy while a filesystem does not answer
		 */
		files;
	struct process_watch processes; /* Ray's own processes */
	/* refused processes and threads that a report of a process has told; 0: none */
	int64_t refused_told;
	struct worker_watch workers; /* and its workers */
	int64_t process_oom_ns; /* the last OOM kill of a process that was reported; 0: none */
	const struct hooks *hooks; /* owned by the owner; NULL: none */
	const struct spill_watch *spill; /* likewise */
	const struct memory_watch *growth; /* likewise */
	/* A sentence about a driver that waits for long; "": none does, as far as is known. */
	char driver_waits[DRIVER_WAITS_MAX];
	/*
	 * postmortem_keep calls it when the bundle has a name, right before the bundle becomes
	 * visible, and when there will be no bundle. May be NULL.
	 */
	void (*naming)(const struct report *r, void *arg);
	void *naming_arg;
	struct sampler sampler;
	uint64_t samples; /* the number of samples that this sidecar took */
	int64_t delay_ns; /* from the last sample to the next */
	struct memory baseline; /* the counters before anything happened */
	struct limits limits; /* likewise; read by the owner */
	/* all that was refused came in its life (observer_count_from_start) */
	bool counts_from_start;
	/*
	 * The latest counters, perhaps newer than the last snapshot; oom_group_kill: as many as the
	 * command survived.
	 */
	struct memory latest;
	int64_t latest_ns; /* 0: never */
	struct memory_most most; /* of all samples of this sidecar */
	/* since when the counter shows more group kills than latest; 0: it does not */
	int64_t group_seen_ns;
	/* the first sample with the peak at the own limit; 0: none, 1: at an unknown time */
	int64_t limit_met_ns;
	int64_t least_usage; /* bytes, of the samples since then without a new OOM kill; 0: none */
	struct snapshot last, previous; /* previous is usually at least 20 ms older than last */
	/* time and usage of the last sweep; between sweeps only the largest processes are read */
	int64_t swept_ns, swept_usage;
	struct sweep_plan sweeps;
	/*
	 * The cgroup's anonymous memory and the sum over its processes, when the processes that
	 * were read last accounted for it.
	 */
	int64_t explained_anon, explained_own;
	/* processes that were considered since then to find the process that changed */
	size_t read_past;
	int64_t remembered_ns; /* the last sample that went into the history */
	struct ray_node node;
	/* for a life before the machine's restart: its clock against the present one */
	int64_t unix_shift_ns;
	int64_t shmem_at_start; /* bytes of shared memory in the first reading of the counters */
	/* Set from the first OOM kill in the counters on, until observer_forget_oom: */
	int64_t oom_seen_ns; /* when it was seen; 0: there was none */
	int64_t oom_last_ns; /* when the latest was seen; usually the same */
	struct snapshot before_oom; /* the last snapshot before it */
	/* the sidecar ends the other processes, so the order of the ends means nothing */
	bool others_end;
	char victim[PROCESS_NAME_MAX]; /* "": unknown */
	pid_t victim_pid;
	int64_t victim_rss; /* bytes */
};

/*
 * Takes root_fd and opens what can be opened. Fails only if there is no memory for the history. A
 * missing cgroup or /proc is no failure, but a fact for the report; err then describes it.
 */
int observer_open(struct observer *o, int root_fd, pid_t launcher,
		  const struct handed_cgroup *cgroup, struct err *err);
void observer_close(struct observer *o);

/* The counters that were opened are not the kernel's: the container is observed without memory. */
void observer_leave_out_memory(struct observer *o);

/*
 * To be called if only this container uses its cgroup: from now on the cgroups below it are found
 * and counted, too.
 */
void observer_look_below(struct observer *o);

/*
 * To be called if the cgroup was made for this start of the container: everything that the counters
 * show happened during its life, so the baseline becomes 0.
 */
void observer_count_from_start(struct observer *o);

/* Takes an errand that is late. Until it has ended, no other may read the container's files. */
void observer_leave_errand(struct observer *o, struct errand *e);

/*
 * Reads the counters of all its cgroups. at_end: the container is dying, so this may be the last
 * chance to read them. Negative if they cannot be read.
 */
int observer_read_memory(struct observer *o, int64_t now_ns, bool at_end,
			 struct memory *ret_memory);

/*
 * To be called with each reading before it becomes o->latest: notes when the peak first met the
 * limit, and the least usage since.
 */
void observer_note_peak(struct observer *o, const struct memory *memory, int64_t at_ns);

/*
 * To be called with each reading before it becomes o->latest: returns how many kills of a whole
 * group the command has survived. The kernel counts such a kill before any process is gone, so it
 * is survived if the command is alive, and not dying, a second later.
 */
int64_t observer_groups_survived(struct observer *o, const struct memory *memory, bool command_dies,
				 int64_t now_ns);

/* Takes a sample; returns the ns until the next. */
int64_t observer_sample(struct observer *o, int64_t now_ns);

/*
 * To be called after the baseline came from a previous sidecar: the kills that it counted in
 * cgroups which are gone by now are taken off it.
 */
void observer_resume_counters(struct observer *o, int64_t now_ns);

/*
 * To be called when an OOM kill was reported: `reported`, the counters of that report, become the
 * baseline. Kills that were counted while the report was written are new to the next sample. The
 * caller makes the tree of cgroups forget the kill.
 */
void observer_forget_oom(struct observer *o, const struct memory *reported);

/*
 * The largest process of the earlier snapshot that is gone in the later; NULL: there is none.
 * not_it: the PID of a process that ended in another way; 0: none.
 */
const struct process *snapshot_victim(const struct snapshot *before, const struct snapshot *after,
				      pid_t not_it);

/*
 * The memory of that victim in bytes. Returns 0 if another process that was not small has ended as
 * well, because then the largest is only the likeliest victim: the kernel may choose a smaller one
 * for its oom_score_adj, and the largest may have ended by itself. command: the PID of the
 * container's command, whose end the launcher reports; 0: not known.
 */
int64_t snapshot_victim_size(const struct snapshot *before, const struct snapshot *after,
			     const struct process *victim, pid_t command);

/*
 * Returns whether this process was so small, and so much of that limit free, that what filled it
 * came after the snapshot. Whether that was this process, and under that name, is not known then.
 * limit: that which was met, in bytes.
 */
bool snapshot_is_from_before(const struct snapshot *s, int64_t limit, pid_t pid);

/*
 * To be called after a death: finds the process of the snapshot before the OOM kill that is gone,
 * and sets victim if there is such a process. not_it: as above.
 */
void observer_find_victim(struct observer *o, const struct snapshot *before, int64_t now_ns,
			  pid_t not_it);

/* Whether processes other than the command are gone in the later snapshot. */
bool snapshot_others_ended(const struct snapshot *before, const struct snapshot *after,
			   pid_t command);

/*
 * To be called after the command's end: whether processes of the snapshot, other than the command,
 * are gone now. True also if the processes cannot be read.
 */
bool observer_others_ended(const struct observer *o, const struct snapshot *before, int64_t now_ns);

/* Whether the command is exiting, so that the container will not live on. */
bool observer_command_dies(const struct observer *o);

/*
 * The resident memory of the command in that snapshot, bytes; 0: it is not among the largest
 * processes.
 */
int64_t observer_command_rss(const struct observer *o, const struct snapshot *s);

/*
 * The state before the end: the last snapshot, or the previous one if processes were already ending
 * when the last was taken.
 */
struct snapshot observer_last_of_life(const struct observer *o, int64_t ended_ns);
