/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pod and container a process belongs to, by its control groups: the names of the kubelet's directories hold the pod's UID
 * and the runtime's the container's ID. The first pod on the path counts: a container that may make cgroups below its own could
 * name them like those of another pod.
 */
#ifndef AFTERGLOW_NODE_POD_OF_PROCESS_H
#define AFTERGLOW_NODE_POD_OF_PROCESS_H

#include <sys/types.h>

#include "lib/err.h"

#define POD_UID_MAX 36 /* bytes: a UUID; static pods have one without dashes */
#define CONTAINER_ID_MAX 64 /* bytes: SHA-256 in hexadecimal */

struct pod_of_process {
	char pod_uid[POD_UID_MAX + 1]; /* [0-9a-f-]: it may stand in a path */
	char container_id[CONTAINER_ID_MAX + 1]; /* [0-9a-f], "": the process is in none of the pod's containers */
};

/*
 * Pure. text is that of /proc/PID/cgroup, of any length. -ENOENT: it is no pod's process; -EPROTO: its hierarchies name several
 * pods or containers.
 */
int pod_of_cgroups(const char *text, struct pod_of_process *ret_pod, struct err *err);

/* The same of a process, as proc (the path of a procfs, "/proc") shows it. -ENOENT also when the process is gone. */
int pod_of_process(const char *proc, pid_t pid, struct pod_of_process *ret_pod, struct err *err);

#endif
