/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a report from what was observed, and writes it into its bundle. */
#pragma once

#include "lib/loop/background.h"
#include "sidecar/ending/ending.h"
#include "sidecar/ending/options.h"
#include "sidecar/report/report.h"
#include "sidecar/verdict/observation.h"
#include "sidecar/watch/observer.h"

/*
 * The making of a report. What a filesystem of the container has to show is read by a child: its
 * limits, and the ends of Ray's logs.
 */
struct postmortem {
	/*
	 * The owner sets these. What they point to outlives the making. Only the ending may go when
	 * postmortem_report has returned.
	 */
	struct event_base *base; /* NULL: nothing is read by a child */
	struct observer *observer;
	const struct ending *ending;
	const struct record_options *options;
	const char *container; /* its name */
	struct report *report; /* is filled in, but for the bundle's path */
	pid_t limits_of; /* the launcher whose limits are to be read; 0: they are in the ending */
	void (*done)(void *arg);
	void *arg;
	/* Its own: */
	struct background child; /* reads the files; the owner may cancel it */
	struct snapshot last;
	struct cgroup_limit isolation;
	const struct cgroup_limit *limit;
	char spilled[EVIDENCE_TEXT_MAX];
	struct node_signal signals[NODE_SIGNALS_MAX];
	struct gpu_error gpu;
	struct observation seen;
	char last_lines[sizeof(((struct report *)NULL)->last_lines)];
	struct ray_error error;
	bool looked, line_is_late, late_is_said;
	int64_t within_ns; /* for each step of the reading */
};

/*
 * Notes what is to be seen of the end. Returns true if the kernel log lacks a line that it should
 * have: postmortem_report reads it again, which is to be called POSTMORTEM_LINE_MS later.
 *
 * The kernel first sends the SIGKILL and then writes "Killed process" to its log. So on a busy
 * machine a process may be dead and reported before the line is there.
 */
bool postmortem_look(struct postmortem *p);
#define POSTMORTEM_LINE_MS 20

/*
 * Makes the report, after postmortem_look or with it. Returns true if files are to be read for it:
 * then the event loop calls done, once. Until then the report says what is known without them.
 */
bool postmortem_report(struct postmortem *p);

#define POSTMORTEM_LOGS_NEED \
	"a filesystem below /tmp/ray, or where --log_dir leads, that answers: it did not"

/* Where the bundles of r's container go, below the store; the last component is the container's. */
void postmortem_parent_path(const struct identity *id, char *path, size_t size);

/*
 * Writes the bundle to directory (NULL: nowhere), as much of it as spool admits (NULL: all). Sets
 * report->bundle to its final place and report->directory to its present directory ("": there is no
 * bundle, because none is wanted or the crash is only counted). If the disk fills up meanwhile,
 * only the report is kept.
 */
int postmortem_keep(struct report *report, const struct observer *o,
		    const struct record_options *options, const char *directory,
		    struct spool *spool, struct err *err);
