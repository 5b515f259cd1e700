/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc shows of a process that holds much memory, beyond how much that is. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct large_process {
	pid_t pid; /* 0: nothing is known */
	int64_t stack; /* bytes of its main thread's stack (VmStk); -1: not known */
	int64_t open_files; /* its soft limit of open files; -1: not known */
	int64_t started_ns; /* CLOCK_BOOTTIME, to the clock tick; 0: not known */
};

/* Reads it by an O_PATH descriptor of the container's root. What cannot be read is not known. */
void large_process_read(int root_fd, pid_t pid, struct large_process *ret_process);

/*
 * Parts of it, for the tests: bytes of VmStk in /proc/PID/status, the soft limit of open files in
 * /proc/PID/limits; -1: neither.
 */
int64_t large_process_parse_stack(const char *status);
int64_t large_process_parse_open_files(const char *limits);
