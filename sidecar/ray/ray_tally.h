/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which of Ray's events get a report, and counts them. Pure: the time is an
 * argument.
 *
 * An event that two logs contain counts once. If the same task dies again and again in the same
 * way, it is reported once in five minutes; the other deaths are counted, and the next report
 * says how many were left out. Only a few reports are made in that time, whatever
 * the names of the tasks. For Ray, a worker that the kernel's OOM killer took has
 * crashed: the kernel's counter shows how many crashes were such kills.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/units.h"
#include "sidecar/ray/ray_lines.h"

#define RAY_REPORT_SPACING_NS (300 * NS_PER_SEC) /* between two reports of one signature */
#define RAY_REPORTS_MAX 8 /* within RAY_REPORT_SPACING_NS, of all signatures */
#define RAY_SUMMARY_NS (60 * NS_PER_SEC) /* as often as Ray itself */

enum ray_outcome {
	/*
	 * it is not counted: it was before, or the OOM killer took the worker, or it is of another
	 * kind
	 */
	RAY_KNOWN,
	RAY_COUNTED, /* it was counted, and gets no report now */
	RAY_REPORT, /* it was counted, and a report is due */
};

/* What happened since the last summary. */
struct ray_summary {
	unsigned int memory_kills, crashes, kernel_kills, fds_exhausted;
	int64_t span_ns;
};

struct ray_tally {
	struct {
		enum ray_kind kind;
		char task[96];
		int wait_status;
		int64_t reported_ns; /* 0: unused */
		unsigned int left_out; /* since then */
	} signatures[16];
	struct {
		pid_t pid;
		char worker_id[60];
		int64_t at_ns; /* 0: unused */
	} recent[64];
	unsigned int next_recent;
	int64_t fds_ns; /* when descriptors ran out last, of Ray's own processes; 0: never */
	int64_t kernel_kills_known; /* the counter as it was; -1 before the first reading */
	unsigned int kernel_credit; /* kernel kills that Ray has not logged as crashes yet */
	int64_t kernel_ns; /* the time of the latest kernel kill */
	struct ray_summary counted; /* since the last summary */
	int64_t since_ns;
	bool untold; /* the death of a worker among them got no report */
};

void ray_tally_init(struct ray_tally *t, int64_t now_ns);

/* Takes the kernel's present count of OOM kills; -1: not known. */
void ray_tally_kernel(struct ray_tally *t, int64_t now_ns, int64_t oom_kill);

/*
 * Counts an event. wait_status: of its worker; -1: not known. *ret_left_out: if a report is due,
 * the events of its signature since the last report.
 */
enum ray_outcome ray_tally_event(struct ray_tally *t, int64_t now_ns, const struct ray_event *e,
				 int wait_status, unsigned int *ret_left_out);

/*
 * Returns true, and starts counting again, if a minute in which anything happened is over. last: at
 * the container's end, if deaths got no report since then.
 */
bool ray_tally_summary(struct ray_tally *t, int64_t now_ns, bool last,
		       struct ray_summary *ret_summary);

/*
 * Writes the summary in Ray's words, as one line without a newline. where: the pod, or NULL.
 * Returns text.
 */
const char *ray_summary_format(const struct ray_summary *s, const char *where, char *text,
			       size_t size);
