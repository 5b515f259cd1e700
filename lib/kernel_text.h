/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses lines of the kernel log that hold names which a container chooses. The kernel escapes
 * neither the names of processes nor those of cgroups, so a name may hold what looks like the rest
 * of the line, or like another line. Pure.
 *
 * What a container cannot choose decides:
 *
 *	A process's name has at most 15 bytes.
 *	A cgroup's name has no slash and no newline, and a container makes cgroups only below its own.
 *	So each path begins with names that the container's owner did not choose.
 *	The victim of an OOM kill is in the cgroup that met its limit, or below it. So of the places
 *	that may separate the two paths, the first one counts at which the victim's path goes on from
 *	the other. If a name in a container makes that place a wrong one, both paths still begin
 *	with the cgroup of that container.
 *
 * Texts may be as /dev/kmsg writes them ("\xHH" for a byte) or decoded.
 */
#pragma once

#include "lib/span.h"

struct kernel_oom {
	bool global; /* the node's memory ran out, and limit is empty */
	struct span limit, victim; /* paths of memory cgroups */
	struct span name; /* of the victim; empty if the line has none */
	int64_t pid, uid; /* of the victim; -1: the line has none */
};

/*
 * "oom-kill:constraint=C,nodemask=N,cpuset=NAME,mems_allowed=M,{global_oom|oom_memcg=PATH},
 * task_memcg=PATH,task=NAME,pid=D,uid=D" in one line, since Linux 5.0.
 * Returns false also for a line that is cut.
 */
bool kernel_oom_parse(const char *text, size_t len, struct kernel_oom *ret_oom);
/* "Task in PATH killed as a result of limit of PATH", before Linux 5.0. */
bool kernel_oom_limit_parse(const char *text, size_t len, struct kernel_oom *ret_oom);
/* "Tasks in PATH are going to be killed due to memory.oom.group set" */
bool kernel_oom_group_parse(const char *text, size_t len, struct span *ret_path);

/*
 * "NAME[PID]: segfault at ... in FILE[...]" and "traps: NAME[PID] general protection fault ... in
 * FILE[...]". Returns the PID, perhaps of a thread; 0: it is no such line.
 */
int32_t kernel_crash_parse(const char *text, size_t len, struct span *ret_name);

/* Returns whether a process can have that name. */
bool kernel_name_fits(const char *name, size_t len);

/*
 * Returns the UID of the first pod on the path of a cgroup, with '_' for '-' in a slice; empty:
 * there is none.
 */
struct span kernel_path_pod(const char *path, size_t len);

/*
 * Returns what follows the directory of that pod in the path of a cgroup:
 * "/cri-containerd-ID.scope", or "" for the directory itself. NULL: the path is of no pod, or of
 * another one. The first pod on the path counts.
 */
const char *kernel_path_in_pod(const char *path, size_t len, const char *pod_uid);
