/* SPDX-License-Identifier: Apache-2.0 */
/* A signal that ends a process, or an OOM kill, as the node agent saw it in the kernel (lib/node_protocol.h). */
#ifndef AFTERGLOW_SIDECAR_VERDICT_NODE_SIGNAL_H
#define AFTERGLOW_SIDECAR_VERDICT_NODE_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NODE_SIGNAL_COMM_MAX 16
#define NODE_SIGNAL_CONTAINER_MAX 64

enum node_signal_place {
	NODE_SIGNAL_UNKNOWN, /* the sender had ended before anybody could look */
	NODE_SIGNAL_NODE, /* it is in no pod */
	NODE_SIGNAL_SAME, /* in the container of its target */
	NODE_SIGNAL_POD, /* in another container of the pod */
	NODE_SIGNAL_OTHER_POD,
};

/*
 * The kernel delivered it: of several SIGKILLs to a process only the first is, because the others find it dying. So a delivered
 * SIGKILL is the one that ended its target.
 */
struct node_signal {
	int64_t at_ns; /* CLOCK_BOOTTIME */
	bool oom; /* the OOM killer took target; there is no sender */
	int signal;
	pid_t target; /* in its container, 0 unknown */
	pid_t sender; /* on the node */
	pid_t sender_own; /* in its own PID namespace, 0 unknown */
	int64_t uid; /* the sender's, as the node counts; -1 unknown */
	enum node_signal_place place;
	char comm[NODE_SIGNAL_COMM_MAX]; /* printable, "" unknown */
};

#endif
