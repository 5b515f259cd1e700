/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows the container of each process of the node's pods, and its PID there. A process that was
 * killed may be gone before /proc can be read, so the table is filled in advance: a sweep reads the
 * new processes, and the next sweep reads them once more, because a container runtime starts a
 * container's process outside of the container.
 *
 * A sweep knows a process that has the PID of a previous one by the inode of its directory in
 * /proc. Until the next sweep the table still has the container of the previous process.
 *
 * A pod without a PID limit may have any number of processes. So a container may have a part of the
 * table only, and processes in no container share one part. Of a process beyond that part the table
 * keeps one bit, so that a sweep need not read it anew.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "node/pod_of_process.h"

#define PROCESSES_MAX 65536 /* in the table; a container gets half of what others leave of it */
#define PROCESSES_OF_CONTAINER 64 /* that a container has in the table in any case */
#define PROCESSES_LISTED 4 /* times so many are listed; further processes are not known */
#define CONTAINERS_MAX 1024 /* of all pods of the node; processes of further ones are not known */
#define PROCESS_SWEEP_S 2

struct process_table;

/*
 * proc: the path of the node's procfs, such as "/proc"; it must outlive the table. max: how many
 * processes it has room for, PROCESSES_MAX.
 */
int process_table_new(const char *proc, size_t max, struct process_table **ret_table,
		      struct err *err);
void process_table_free(struct process_table *t);

/* Reads the processes of the node. To be called every PROCESS_SWEEP_S seconds. */
int process_table_sweep(struct process_table *t, struct err *err);

/* What the table knows of a process, as of the last sweep. */
enum process_known {
	/*
	 * There was no such process, only one sweep saw it, in no container, or there was no room
	 * for it or its container.
	 */
	PROCESS_UNKNOWN,
	PROCESS_OF_NODE, /* it was in no pod's container, in two sweeps */
	PROCESS_OF_POD,
};
/*
 * Finds a process. Both results are set for PROCESS_OF_POD only: *ret_pod is owned by the table and
 * valid until the next sweep; *ret_inner is the PID in the container, 0: unknown.
 */
enum process_known process_table_find(const struct process_table *t, pid_t pid,
				      const struct pod_of_process **ret_pod, pid_t *ret_inner);

/*
 * Does the same, and reads the process's cgroup if the process still exists: PROCESS_UNKNOWN also
 * if it is in another container than the table says, because its PID was reused since the last
 * sweep.
 */
enum process_known process_table_look(const struct process_table *t, pid_t pid,
				      struct pod_of_process *ret_pod, pid_t *ret_inner);

/*
 * Calls fn for each container that had a process in the last sweep; sweeps is the number of sweeps
 * before it in which it had one, too.
 */
void process_table_containers(const struct process_table *t,
			      void (*fn)(const struct pod_of_process *c, unsigned int sweeps,
					 void *arg),
			      void *arg);

/* The PID of any process of that container, 0: there is none. */
pid_t process_table_any(const struct process_table *t, const struct pod_of_process *container);

/* The number of processes that the last sweep listed and for which there was no room. */
size_t process_table_left_out(const struct process_table *t);
