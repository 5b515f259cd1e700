/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the OOM kills in a kernel log, and whether the container was affected. Pure.
 *
 * A report runs from "invoked oom-killer" over the table of processes to "Killed process" and, with
 * memory.oom.group, to more of those; the kernel's oom_lock separates two reports. The kernel
 * prints at most 10 whole reports in 5 s; of the others it prints only the "Killed process" line,
 * without a cgroup. If the first thread of a process has ended, the kernel names another thread;
 * the table shows which process that thread belongs to.
 */
#ifndef AFTERGLOW_SIDECAR_KERNEL_OOM_KILLS_H
#define AFTERGLOW_SIDECAR_KERNEL_OOM_KILLS_H

#include "sidecar/kernel/kmsg_read.h"

#define OOM_GROUP_MAX 64 /* further processes of a group whose PIDs are kept */

struct oom_kill {
	int64_t time_us; /* of "Killed process", by the kernel's clock; -1 unknown */
	enum kmsg_scope scope;
	bool group; /* the whole cgroup was killed */
	unsigned int killed; /* processes, as far as there are lines of them */
	int64_t pid, uid, anon, file, shmem; /* of the first: in the node's PID namespace, bytes resident; -1 unknown */
	bool is_process; /* pid and group_pids are of processes for sure; else one may be the ID of a thread */
	int64_t limit; /* of the cgroup that ran out, bytes; -1 unknown */
	int64_t group_pids[OOM_GROUP_MAX]; /* with group: of those after the first */
	unsigned int n_group_pids; /* if it is less than killed - 1, there were more */
	unsigned int processes; /* in the table */
	char name[KMSG_NAME_MAX]; /* as it is: print it escaped */
	char task_memcg[KMSG_PATH_MAX], oom_memcg[KMSG_PATH_MAX]; /* "" unknown */
	size_t first, killed_at, last; /* its lines in the log: begin, "Killed process", end */
};

/*
 * Calls visit for each kill, the oldest first. Records that do not come from the kernel are
 * skipped.
 */
void oom_kills_find(const struct kmsg_log *log, void (*visit)(const struct oom_kill *k, void *arg), void *arg);

/* Whether that process, by its PID of the node, is among those that the kill took. */
bool oom_kill_took(const struct oom_kill *k, int64_t pid);

/* Bytes resident, -1 unknown. */
int64_t oom_kill_rss(const struct oom_kill *k);

/* What is known of the container. */
struct oom_self {
	/*
	 * Its memory cgroup as /proc/PID/cgroup tells: from the root of the hierarchy or of a cgroup
	 * namespace, or, seen from a sidecar's cgroup namespace, "/../cri-containerd-ID.scope". "" unknown.
	 */
	const char *cgroup;
	const char *pod_uid; /* NULL unknown */
};

enum oom_match {
	OOM_NOT_OURS, /* another cgroup's */
	OOM_CGROUP_UNTOLD, /* the line names no cgroup, or ours is not known; name, size and time may decide */
	OOM_OURS,
};

enum oom_match oom_kill_match(const struct oom_kill *k, const struct oom_self *self);

/* Which memory ran out. */
enum oom_where { OOM_WHERE_UNKNOWN, OOM_WHERE_CONTAINER, OOM_WHERE_POD, OOM_WHERE_ABOVE, OOM_WHERE_NODE };

/*
 * For a kill in the container. ABOVE: a cgroup around the pod (kubepods.slice), or around the
 * container if there is no pod.
 */
enum oom_where oom_kill_where(const struct oom_kill *k, const struct oom_self *self);

/*
 * The path of the cgroup that ran out below ours, as a part of k: "ray_node_1/user"; "": it is
 * ours. NULL: it is neither, or that is not known.
 */
const char *oom_kill_below(const struct oom_kill *k, const struct oom_self *self);

#endif
