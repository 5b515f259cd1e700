/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/status says of a process's rights and names. */
#ifndef AFTERGLOW_NODE_PROCESS_STATUS_H
#define AFTERGLOW_NODE_PROCESS_STATUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define STATUS_GROUPS_MAX 1024

struct process_status {
	uid_t fsuid; /* with which it opens files */
	gid_t fsgid;
	gid_t groups[STATUS_GROUPS_MAX];
	size_t n_groups;
	uint64_t capabilities; /* the effective ones */
	pid_t own_pid; /* in its own PID namespace */
	pid_t container_pid; /* the same; 0: it is in a PID namespace within its container's, by which nobody outside knows it */
	pid_t process; /* that the task is a thread of, in the reader's PID namespace */
	char comm[64]; /* printable, without blanks; "-": it has none */
};

/* Pure. text is that of /proc/PID/status. -EPROTO: a line is missing or malformed, or there are too many groups. */
int process_status_parse(const char *text, struct process_status *ret_status, struct err *err);

/* The same of a process, as proc shows it. */
int process_status_read(const char *proc, pid_t pid, struct process_status *ret_status, struct err *err);

#endif
