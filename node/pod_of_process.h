/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the pod and container to which a process belongs, by its cgroups: the kubelet's directories
 * have the pod's UID in their names, and the container runtime's have the container's ID. The first
 * pod on the path counts, because a container that may make cgroups below its own could give them
 * the names of another pod.
 */
#pragma once

#include <sys/types.h>

#include "lib/err.h"

#define POD_UID_MAX 36 /* bytes: a UUID; the UID of a static pod has no dashes */
#define CONTAINER_ID_MAX 64 /* bytes: a SHA-256 in hexadecimal */

struct pod_of_process {
	char pod_uid[POD_UID_MAX + 1]; /* only [0-9a-f-], so it is safe in a path */
	char container_id[CONTAINER_ID_MAX +
			  1]; /* [0-9a-f], "": the process is in none of the pod's containers */
};

/*
 * Pure. Parses the text of /proc/PID/cgroup, of any length. -ENOENT: the process is in no pod;
 * -EPROTO: its hierarchies name several pods or containers.
 */
int pod_of_cgroups(const char *text, struct pod_of_process *ret_pod, struct err *err);

/*
 * Does the same for a process; proc is the path of a procfs, such as "/proc". -ENOENT also if the
 * process has ended.
 */
int pod_of_process(const char *proc, pid_t pid, struct pod_of_process *ret_pod, struct err *err);
