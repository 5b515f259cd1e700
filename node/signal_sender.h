/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which process sent a signal, from /proc and the table of processes. The process may
 * have ended since.
 */
#pragma once

#include <stdint.h>

#include "node/process_table.h"
#include "node/signal_record.h"
#include "node/trace_instance.h"

enum sender_place {
	SENDER_UNKNOWN, /* it has ended, and no sweep had seen it */
	SENDER_NODE, /* in no pod: the kubelet, the runtime, a person's shell */
	SENDER_POD, /* in the pod of the target */
	SENDER_OTHER_POD,
};

struct signal_sender {
	pid_t pid; /* of the process, on the node; if the task has ended, it may be a thread's */
	pid_t inner; /* in its own PID namespace, 0: unknown */
	int64_t uid; /* its effective uid on the node; -1: unknown */
	enum sender_place place;
	char container_id[CONTAINER_ID_MAX + 1]; /* with SENDER_POD */
	char comm[TRACE_COMM_MAX]; /* "": unknown; may have any bytes, so it must be escaped */
};

/*
 * Finds the sender by its task. sent_ns: when it sent the signal (CLOCK_BOOTTIME); if the process
 * with this PID began later, nothing is known of the sender. pod: the pod of the target. proc: the
 * path of a procfs, as in process_table_new.
 */
void signal_sender_find(const char *proc, const struct process_table *table,
			const struct trace_instance *trace, pid_t task, int64_t sent_ns,
			const struct pod_of_process *pod, struct signal_sender *ret_sender);

/*
 * Whether a task that exists began after time_ns, so that another one may have had its PID then.
 * False without a look if time_ns was just now, because signals come in storms.
 */
bool task_is_later(const char *proc, pid_t task, int64_t time_ns);

/*
 * When the task began, CLOCK_BOOTTIME, up to a hundredth of a second too early; stat as below. 0 if
 * it cannot be parsed. Pure.
 */
int64_t task_began_ns(const char *stat);
/*
 * Whether the task is exiting; stat is the text of /proc/PID/stat. True also if stat cannot be
 * parsed. Pure.
 */
bool task_is_exiting(const char *stat);

/*
 * Appends the message to the sidecar (lib/node_protocol.h): "signal ..." or "oom ...". inner: the
 * target's PID in its container. sender: NULL for an OOM victim. Pure.
 */
void signal_message(const struct signal_record *record, const char *container_id, pid_t inner,
		    const struct signal_sender *sender, struct strbuf *out);
