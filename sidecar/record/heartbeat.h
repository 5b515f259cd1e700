/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches whether the event loop runs. A thread looks at a counter that the loop increments every
 * second. If the counter stands still, the thread logs in which system call the loop is, and in the
 * end it ends the process. The kubelet starts the sidecar again, which continues from the state
 * directory (state_dir.h). Time is counted in looks, so that a suspended machine or a frozen cgroup
 * is not taken for a loop that hangs.
 *
 * It is a thread and not a parent process. It runs while the loop sleeps in the kernel, and its
 * exit ends such a sleep, as SIGKILL from a parent would. If SIGKILL does not end the process, a
 * parent could not end it either; it could only start a second sidecar beside the first, which
 * still holds the socket and the spool. A thread is of no use when the whole process is stopped,
 * but no process in the pod can stop the sidecar, unless the pod shares its PID namespace. And a
 * parent process would cost memory.
 */
#pragma once

#include <stdint.h>

#include "lib/err.h"

#define HEARTBEAT_EXIT 70 /* the exit code of a process that was ended because its loop hung */

struct heartbeat_patience {
	int64_t look_ns; /* the time between two looks */
	/* looks without a beat, until it is logged and until the process ends */
	unsigned int say_after, end_after;
};
#define HEARTBEAT_PATIENCE \
	((struct heartbeat_patience){ .look_ns = 5000000000, .say_after = 6, .end_after = 24 })

/* Starts the thread; to be called once, by the thread that runs the loop. */
int heartbeat_start(const struct heartbeat_patience *patience, struct err *err);

/* To be called by the loop every second, as the sign that it runs. now_ns: CLOCK_BOOTTIME. */
void heartbeat_beat(int64_t now_ns);

/*
 * How long ago the last beat was, and the longest time between two beats so far; 0 before the
 * first.
 */
int64_t heartbeat_age_ns(int64_t now_ns);
int64_t heartbeat_longest_ns(void);
