/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses records of the kernel log and finds the process, pod or device that each is about. Pure.
 * Many lines have names of processes in them, and a process can choose any name. So a line counts
 * for a process only by the PID at the place where the kernel writes it, after the name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "node/pod_of_process.h"

#define KERNEL_DEVICE_MAX 64

enum kernel_line_kind {
	KERNEL_LINE_OTHER,
	KERNEL_LINE_OOM_BEGIN, /* "x invoked oom-killer: ..."; sets name_len */
	KERNEL_LINE_OOM_INVOKER, /* "CPU: 1 PID: 12 Comm: x ..." in that report: who invoked it; sets pid (of a thread) */
	KERNEL_LINE_OOM_MEMORY, /* a line of that report about memory, which names no process */
	/* a line of that report about a cgroup; sets victim, if it is a pod's */
	KERNEL_LINE_OOM_CGROUP,
	/* a process in the table of that report; sets pid and task, which the header has not */
	KERNEL_LINE_OOM_ROW,
	/* the cgroup out of memory, and the victim; sets pid, victim, within */
	KERNEL_LINE_OOM_CONSTRAINT,
	/* after such a report: the kernel kills a whole cgroup (memory.oom.group); sets victim */
	KERNEL_LINE_OOM_GROUP,
	KERNEL_LINE_PROCESS, /* "Killed process", a segfault, a trap, a GPU's error with a process; sets pid, perhaps of a thread */
	KERNEL_LINE_GPU, /* a GPU's error without a process */
	/* an error of a disk or of a network filesystem; sets device, name_at, name_len */
	KERNEL_LINE_DEVICE,
};

struct kernel_line {
	enum kernel_line_kind kind;
	int priority; /* 0 to 7, as in syslog(3) */
	int64_t time_us; /* by the log's own clock */
	const char *text; /* points into the caller's buffer, not terminated */
	size_t len;
	pid_t pid; /* on the node, 0: unknown */
	/*
	 * of a row: the thread that stands for the process, mostly its first, whose number is pid
	 */
	pid_t task;
	/*
	 * Where a process's name stands in text, for OOM_BEGIN and DEVICE; name_len 0: nowhere, or
	 * it is empty.
	 */
	size_t name_at, name_len;
	bool ends_oom; /* "Killed process": the last line of an OOM killer's report */
	struct pod_of_process victim; /* of the victim, or of the cgroup; pod_uid "": none */
	/* the limit was the pod's or a container's: the table has only its processes */
	bool within;
	char device[KERNEL_DEVICE_MAX]; /* "sda1"; for NFS the server, "10.0.0.1:" */
};

/*
 * Parses the result of one read(2) of /dev/kmsg. Returns false if it is not a record, if the kernel
 * did not write it (programs that write to the log have another facility), or if it is the rest of
 * a line that another processor's line broke in two: such a rest may begin with the name of a
 * cgroup.
 */
bool kernel_line_parse(const char *data, size_t len, struct kernel_line *ret_line);

#define KERNEL_TEXT_MAX 1100 /* a line, which the kernel bounds, and a little more */
/* Replaces the process's name, if the line has one at name_at; text points into the buffer then. */
void kernel_line_hide_name(struct kernel_line *l, char buffer[static KERNEL_TEXT_MAX]);

/*
 * Whether anything is mounted from that device or server. mountinfo: the text of
 * /proc/PID/mountinfo.
 */
bool kernel_line_is_mounted(const char *mountinfo, const char *device);
