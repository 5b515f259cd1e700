/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the lines of an OOM killer's report, whose victim is known only at its end, and gives
 * the victim's pod what concerns it. The report of a node that runs out of memory names processes
 * of all pods, and other processors write lines of their own between those of the report. So the
 * pod gets
 *
 *	the first line, without the name if the process that invoked the OOM killer is not known to
 *	be of the pod; lines about memory, and about cgroups that are of no other pod;
 *	the table of processes, of which it gets its own if the limit was not the pod's. A table
 *	that is too long is left out whole: with rows missing it would say that there were fewer
 *	processes; the line with the limit and the victim.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/strbuf.h"
#include "node/kernel_line.h"

#define OOM_REPORT_MAX (256 * 1024) /* bytes; of about 2,000 processes */
/*
 * Rows for a pod: with names of common length a whole report fits into the buffer of the socket
 * (outbox.h).
 */
#define OOM_REPORT_ROWS_MAX 384

struct oom_report {
	struct strbuf records; /* as /dev/kmsg gave them, each with a final NUL */
	int64_t began_us; /* the time of its first line; 0: there is no report */
	struct pod_of_process victim; /* pod_uid "": it is in no pod, or not known yet */
	pid_t victim_pid; /* 0: not known */
	pid_t invoker; /* a thread; 0: not known */
	bool within; /* as in struct kernel_line */
	bool cut; /* the table was too long to be kept */
};

struct oom_report_reader {
	/* Whether the process or thread is in that pod */
	bool (*is_of)(pid_t pid, const char *pod_uid, void *arg);
	void (*take)(const struct kernel_line *l, void *arg); /* l is valid during the call only */
	void *arg;
};

void oom_report_init(struct oom_report *r);
/* Forgets the report, and gives its memory back. */
void oom_report_release(struct oom_report *r);

/* Begins with a line of KERNEL_LINE_OOM_BEGIN, and forgets the report before. */
void oom_report_begin(struct oom_report *r, const struct kernel_line *l, const char *data,
		      size_t len);
/*
 * Adds a line, if it is part of such a report and there is one. data: the record from which it was
 * parsed.
 */
void oom_report_add(struct oom_report *r, const struct kernel_line *l, const char *data,
		    size_t len);

/* Whether the report says that this process or thread is its victim. */
bool oom_report_is_victim(const struct oom_report *r, pid_t task);

/* Calls take for each line that the pod may see, in their order. */
void oom_report_read(const struct oom_report *r, const char *pod_uid,
		     const struct oom_report_reader *reader);
