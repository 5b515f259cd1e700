/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches whether the event loop turns. A thread looks at a counter that the loop raises every second: if it stands still, the
 * thread says in which system call the loop is, and at last ends the process. The kubelet starts it again, and what was seen so
 * far is in the state directory (state_dir.h). Time is counted in looks: a machine that was suspended, or a frozen cgroup, is not
 * a loop that hangs.
 *
 * It is a thread and no parent process: it runs while the loop sleeps in the kernel, and its exit ends such a sleep, as SIGKILL from
 * a parent would. What SIGKILL does not end no parent could end either; it could only start a second sidecar beside the first one,
 * which still holds the container's places. A process that is stopped as a whole is beyond a thread, and nobody in the pod can do
 * that to the sidecar, which has a PID namespace of its own. And each process has its price in memory.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_HEARTBEAT_H
#define AFTERGLOW_SIDECAR_RECORD_HEARTBEAT_H

#include <stdint.h>

#include "lib/err.h"

#define HEARTBEAT_EXIT 70 /* the exit code of a process whose loop did not turn any more */

struct heartbeat_patience {
	int64_t look_ns; /* between two looks */
	unsigned int say_after, end_after; /* looks without a beat */
};
#define HEARTBEAT_PATIENCE ((struct heartbeat_patience){ .look_ns = 5000000000, .say_after = 6, .end_after = 24 })

/* Starts the thread, once; the calling one runs the loop. */
int heartbeat_start(const struct heartbeat_patience *patience, struct err *err);

/* The loop turns. now_ns: CLOCK_BOOTTIME. */
void heartbeat_beat(int64_t now_ns);

/* How long ago the last beat was, and the longest time between two so far; 0 before the first. */
int64_t heartbeat_age_ns(int64_t now_ns);
int64_t heartbeat_longest_ns(void);

#endif
