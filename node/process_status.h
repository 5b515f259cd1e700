/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a process's identity, rights and PIDs from /proc/PID/status. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define STATUS_GROUPS_MAX 1024

struct process_status {
	uid_t fsuid; /* the user as which it opens files */
	gid_t fsgid;
	gid_t groups[STATUS_GROUPS_MAX]; /* its supplementary groups */
	size_t n_groups;
	uint64_t capabilities; /* its effective capabilities */
	pid_t own_pid; /* in its own PID namespace */
	/*
	 * in its container's PID namespace; 0: it is in a namespace below, so its PID there is not
	 * known
	 */
	pid_t container_pid;
	/* the process of which the task is a thread, in the reader's PID namespace */
	pid_t process;
	char comm[64]; /* printable, without blanks; "-": it has none */
};

/*
 * Pure. Parses the text of /proc/PID/status. -EPROTO: a line is missing or malformed, or there are
 * more than STATUS_GROUPS_MAX groups.
 */
int process_status_parse(const char *text, struct process_status *ret_status, struct err *err);

/*
 * Does the same for a process; proc is the path of a procfs. Negative if its file cannot be read.
 */
int process_status_read(const char *proc, pid_t pid, struct process_status *ret_status,
			struct err *err);
