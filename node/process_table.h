/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the node's pods: which container each is in, and its PID there. A process that was killed may be gone before anybody
 * can ask /proc about it, so it is asked in advance: sweeps see the new processes, and look at each of them again one sweep later,
 * because a runtime starts a container's process outside of the container.
 *
 * A PID that another process took since the last sweep is found under its predecessor's container. Who needs to be certain
 * has to check more than the PID.
 */
#ifndef AFTERGLOW_NODE_PROCESS_TABLE_H
#define AFTERGLOW_NODE_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "node/pod_of_process.h"

#define PROCESSES_MAX 65536 /* further ones are not known */
#define CONTAINERS_MAX 1024 /* of all pods of the node */
#define PROCESS_SWEEP_S 2

struct process_table;

/* proc: the path of the node's procfs, "/proc"; stays the caller's. */
int process_table_new(const char *proc, struct process_table **ret_table, struct err *err);
void process_table_free(struct process_table *t);

/* Sees which processes there are, every PROCESS_SWEEP_S seconds. */
int process_table_sweep(struct process_table *t, struct err *err);

/* A process at the last sweep. */
enum process_known {
	PROCESS_UNKNOWN, /* it was not there, or has been looked at once only and was in no container */
	PROCESS_OF_NODE, /* it was in no pod's container, at two sweeps */
	PROCESS_OF_POD,
};
/* ret_pod is the table's, until the next sweep; ret_inner its PID in the container, 0 unknown. Both only for PROCESS_OF_POD. */
enum process_known process_table_find(const struct process_table *t, pid_t pid, const struct pod_of_process **ret_pod,
				      pid_t *ret_inner);

/* Each container that had a process at the last sweep, and how many sweeps before that had one too. */
void process_table_containers(const struct process_table *t, void (*fn)(const struct pod_of_process *c, unsigned int sweeps, void *arg),
			      void *arg);

/* A process of that container, 0: there is none. */
pid_t process_table_any(const struct process_table *t, const struct pod_of_process *container);

size_t process_table_count(const struct process_table *t);

#endif
