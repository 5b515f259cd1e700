/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the kernel log and whom they concern. Pure. Names of processes are their owners' choice and stand in many lines: a line
 * is taken for a process's only by the PID at the place where the kernel puts it, behind the last thing that looks like a name.
 */
#ifndef AFTERGLOW_NODE_KERNEL_LINE_H
#define AFTERGLOW_NODE_KERNEL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/pod_of_process.h"

#define KERNEL_DEVICE_MAX 64

enum kernel_line_kind {
	KERNEL_LINE_OTHER,
	KERNEL_LINE_OOM_BEGIN, /* "x invoked oom-killer: ..." */
	KERNEL_LINE_OOM_ROW, /* a process in the table of that report; pid */
	KERNEL_LINE_OOM_CONSTRAINT, /* whose memory ran out, and who is taken; pid, victim, within */
	KERNEL_LINE_PROCESS, /* "Killed process", a segfault, a trap, an Xid of a process; pid */
	KERNEL_LINE_GPU, /* of a GPU, and of no process */
	KERNEL_LINE_DEVICE, /* an error of a disk or of a network filesystem; device */
};

struct kernel_line {
	enum kernel_line_kind kind;
	int priority;
	int64_t time_us; /* by the log's own clock */
	const char *text; /* points into the caller's buffer, not terminated */
	size_t len;
	pid_t pid; /* on the node, 0 unknown */
	bool ends_oom; /* "Killed process": the report is whole */
	struct pod_of_process victim; /* the pod of the process that is taken, pod_uid "" where it is in none */
	bool within; /* it was the pod's own limit, or that of one of its containers: the table is of its processes alone */
	char device[KERNEL_DEVICE_MAX]; /* "sda1"; of NFS the server, "10.0.0.1:" */
};

/* What one read(2) of /dev/kmsg gave. False: it is no record, or not the kernel's own: others write with another facility. */
bool kernel_line_parse(const char *data, size_t len, struct kernel_line *ret_line);

/* Whether something is mounted from that device, or server. mountinfo: the text of /proc/PID/mountinfo. */
bool kernel_line_is_mounted(const char *mountinfo, const char *device);

#endif
