/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the OOM kills in a kernel log, and whether the container was affected. Pure.
 *
 * A report runs from "invoked oom-killer" over the table of processes to "Killed process" and, with
 * memory.oom.group, to more such lines; the kernel's oom_lock separates two reports. The kernel
 * prints at most 10 whole reports in 5 s; of further reports it prints only the "Killed process"
 * line, without a cgroup. If the first thread of a process has ended, the kernel names another
 * thread; the table shows to which process that thread belongs.
 */
#pragma once

#include "sidecar/kernel/kmsg_read.h"

#define OOM_GROUP_MAX 64 /* further processes of a group whose PIDs are kept */

struct oom_kill {
	int64_t time_us; /* of "Killed process", by the kernel's clock; -1 unknown */
	enum kmsg_scope scope;
	bool group; /* the whole cgroup was killed */
	unsigned int killed; /* the number of killed processes that have a line in the log */
	/* of the first process: in the node's PID namespace, bytes resident; -1 unknown */
	int64_t pid, uid, anon, file, shmem;
	/*
	 * pid and group_pids are certainly PIDs of processes; false: any may be the ID of a thread
	 */
	bool is_process;
	int64_t limit; /* of the cgroup that ran out, bytes; -1 unknown */
	/* with group: the PIDs of the processes after the first */
	int64_t group_pids[OOM_GROUP_MAX];
	unsigned int n_group_pids; /* if it is less than killed - 1, there were more */
	unsigned int processes; /* in the table */
	char name[KMSG_NAME_MAX]; /* unescaped: escape it to print it */
	char task_memcg[KMSG_PATH_MAX], oom_memcg[KMSG_PATH_MAX]; /* "" unknown */
	char group_memcg[KMSG_PATH_MAX]; /* with group: the cgroup that was killed as a whole */
	size_t first, killed_at, last; /* its lines in the log: begin, "Killed process", end */
};

/*
 * Calls visit for each kill, the oldest first. Records that do not come from the kernel are
 * skipped.
 */
void oom_kills_find(const struct kmsg_log *log, void (*visit)(const struct oom_kill *k, void *arg),
		    void *arg);

/* Whether the kill took that process; pid is in the node's PID namespace. */
bool oom_kill_took(const struct oom_kill *k, int64_t pid);

/* The resident bytes of the first process that the kill took; -1 unknown. */
int64_t oom_kill_rss(const struct oom_kill *k);

/* What is known of the container. */
struct oom_self {
	/*
	 * Its memory cgroup as in /proc/PID/cgroup: from the root of the hierarchy or of a cgroup
	 * namespace, or, seen from a sidecar's cgroup namespace, "/../cri-containerd-ID.scope". ""
	 * unknown.
	 */
	const char *cgroup;
	const char *pod_uid; /* NULL unknown */
};

/* Whether an OOM kill was in the container. */
enum oom_match {
	OOM_NOT_OURS, /* the victim was in another cgroup */
	/* the line names no cgroup, or ours is not known; name, size and time may decide */
	OOM_CGROUP_UNKNOWN,
	OOM_OURS,
};

enum oom_match oom_kill_match(const struct oom_kill *k, const struct oom_self *self);

/* Which memory ran out. */
enum oom_where {
	OOM_WHERE_UNKNOWN,
	OOM_WHERE_CONTAINER,
	OOM_WHERE_POD,
	OOM_WHERE_ABOVE,
	OOM_WHERE_NODE
};

/*
 * Decides that for a kill in the container. OOM_WHERE_ABOVE: a cgroup around the pod
 * (kubepods.slice), or around the container if there is no pod.
 */
enum oom_where oom_kill_where(const struct oom_kill *k, const struct oom_self *self);

/*
 * The path below our cgroup of the cgroup that ran out, as a part of k: "ray-node_1/user"; "" if
 * our own cgroup ran out. NULL: another cgroup did, or it is not known.
 */
const char *oom_kill_below(const struct oom_kill *k, const struct oom_self *self);
