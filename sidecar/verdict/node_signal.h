/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal that ends a process, or an OOM kill, as the node agent read it from the kernel
 * (lib/node_protocol.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NODE_SIGNAL_COMM_MAX 16

enum node_signal_place {
	NODE_SIGNAL_UNKNOWN, /* the sender had ended before the agent could look */
	NODE_SIGNAL_NODE, /* the sender is in no pod */
	NODE_SIGNAL_SAME, /* in the container of its target */
	NODE_SIGNAL_POD, /* in another container of the pod */
	NODE_SIGNAL_OTHER_POD,
};

/*
 * The kernel delivered this signal. Of several SIGKILLs to a process it delivers only the first,
 * because the others find the process dying. So a delivered SIGKILL is the SIGKILL that ended its
 * target.
 */
struct node_signal {
	int64_t at_ns; /* CLOCK_BOOTTIME */
	bool oom; /* the OOM killer took the target; there is no sender */
	int signal;
	pid_t target; /* PID in its container, 0 unknown */
	pid_t sender; /* PID on the node */
	pid_t sender_own; /* the sender's PID in its own PID namespace, 0 unknown */
	int64_t uid; /* the sender's uid in the node's user namespace; -1 unknown */
	enum node_signal_place place;
	char comm[NODE_SIGNAL_COMM_MAX]; /* the sender's name, printable; "" unknown */
};
