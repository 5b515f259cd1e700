/* SPDX-License-Identifier: Apache-2.0 */
/* Who sent a signal: what /proc and the table of processes say of a task that may be gone by now. */
#ifndef AFTERGLOW_NODE_SIGNAL_SENDER_H
#define AFTERGLOW_NODE_SIGNAL_SENDER_H

#include <stdint.h>

#include "node/process_table.h"
#include "node/signal_record.h"
#include "node/trace_instance.h"

enum sender_place {
	SENDER_UNKNOWN, /* it has ended, and nobody saw where it ran */
	SENDER_NODE, /* in no pod: the kubelet, the runtime, a person's shell */
	SENDER_POD, /* in the pod of the target */
	SENDER_OTHER_POD,
};

struct signal_sender {
	pid_t pid; /* of the process, in the node's PID namespace; of a task that is gone maybe a thread */
	pid_t inner; /* in its own PID namespace, 0 unknown */
	int64_t uid; /* effective, as the node counts; -1 unknown */
	enum sender_place place;
	char container_id[CONTAINER_ID_MAX + 1]; /* with SENDER_POD */
	char comm[TRACE_COMM_MAX]; /* "" unknown; of a task that is gone as it is: print it escaped */
};

/* pod: of the target. proc: as process_table_new has it. */
void signal_sender_find(const char *proc, const struct process_table *table, const struct trace_instance *trace, pid_t task,
			const struct pod_of_process *pod, struct signal_sender *ret_sender);

/* stat: the text of /proc/PID/stat. Also when it is none. Pure. */
bool task_is_exiting(const char *stat);

/*
 * The message to the sidecar (lib/node_protocol.h): "signal ..." or "oom ...". inner: the target's PID in its container. Pure.
 * sender: NULL for an OOM victim.
 */
void signal_message(const struct signal_record *record, const char *container_id, pid_t inner, const struct signal_sender *sender,
		    struct strbuf *out);

#endif
