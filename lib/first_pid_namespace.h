/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel log, tracepoints and the %P of core_pattern name a process by its PID in the machine's
 * first PID namespace. In any other, as in a node that is itself a container, another process has
 * that PID.
 */
#pragma once

#include <string.h>
#include <unistd.h>

/*
 * Returns 1 if this process is in the machine's first PID namespace, 0 if it is in another one, and
 * -1 if /proc does not say. The inode of the first is fixed since Linux 3.8 (PROC_PID_INIT_INO).
 */
static inline int first_pid_namespace_is_ours(void)
{
	static const char first[] = "pid:[4026531836]";
	char own[sizeof(first)];
	ssize_t n = readlink("/proc/self/ns/pid", own, sizeof(own));

	return n < 0 ? -1 : n == sizeof(first) - 1 && memcmp(own, first, sizeof(first) - 1) == 0;
}
