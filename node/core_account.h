/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a core's file in memory (tmpfs) for the pod of the process that crashed. The kernel counts
 * the pages of such a file for the memory cgroup of the process that writes them. The program for
 * cores is in no pod, so a pod that crashes in a directory of memory could use memory beyond its
 * limit.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

struct core_account {
	bool of_pod; /* the process that crashed is in a pod */
	int procs; /* cgroup.procs of its memory cgroup, -1: it cannot be opened */
};

/*
 * Pure. Finds the memory cgroup's directory on the node by the text of /proc/PID/cgroup. Returns
 * false if the text names none.
 */
bool core_account_path(const char *text, char ret_path[static PATH_MAX]);

/*
 * Opens the account of a process, as root of the node. Never fails; core_account_release closes it.
 */
void core_account_open(pid_t pid, struct core_account *ret_account);
void core_account_release(struct core_account *a);

/*
 * Moves this process into the pod's memory cgroup if the file is in memory. May be called when root
 * was given up. Negative: it cannot be moved, and must not write the file. Does nothing for other
 * files, and for processes that are in no pod.
 */
int core_account_charge(const struct core_account *a, int file, struct err *err);
