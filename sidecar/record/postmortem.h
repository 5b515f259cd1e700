/* SPDX-License-Identifier: Apache-2.0 */
/* From what was observed to a report, and the report into its bundle. */
#ifndef AFTERGLOW_SIDECAR_RECORD_POSTMORTEM_H
#define AFTERGLOW_SIDECAR_RECORD_POSTMORTEM_H

#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"
#include "sidecar/report/report.h"

/* How a container ended, or that it did not. Times are CLOCK_BOOTTIME. */
struct ending {
	bool container_lives; /* only a process died */
	bool status_known; /* the launcher told */
	int wait_status;
	const struct unstarted *unstarted; /* the container's own; NULL: its command was executed, as far as is known */
	int64_t started_ns, ended_ns;
	struct memory after; /* the counters right after */
	bool after_known;
	struct limits limits; /* right after, zero when the launcher died too */
	bool group_ended_by_us;
	bool pod_terminating;
	struct stop_request asked; /* to stop; signal 0: it was not, as far as is known */
	const struct gap *gap; /* no sidecar ran then: ended_ns is the last sign of life; NULL: one did */
	const struct crash_info *crash; /* the core of it; NULL: none */
	const struct strbuf *backtrace; /* with crash */
	const char *core_needs; /* without: why, outlives the report */
	bool container_over; /* with crash and container_lives: it has ended meanwhile */
	bool core_is_old; /* of an earlier start of the container */
	const struct ray_process_end *process; /* with container_lives: one of Ray's own has ended; NULL: none */
	int64_t process_oom_ns; /* the OOM killer's last visit that the container outlived; 0: none */
	const struct ray_said *ray; /* with container_lives: the worker died as Ray tells; NULL: the kernel's counters do */
};

/* Fills everything but the bundle's path. container is its name. */
void postmortem_report(struct observer *o, const struct ending *e, const struct record_options *options,
		       const char *container, struct report *ret_report);

#define POSTMORTEM_LOGS_NEED "a filesystem below /tmp/ray, or where --log_dir leads, that answers: it did not"

/* What has to be done before the bundle of r becomes visible, or instead: o->naming may have it done elsewhere. */
void postmortem_named(const struct observer *o, const struct report *r);

/* Where the bundles of r's container go, below the store; the last component is the container's. */
void postmortem_parent_path(const struct identity *id, char *path, size_t size);

/*
 * Writes the bundle, or as much of it as spool admits (NULL: all), to directory (NULL: nowhere), and sets
 * report->bundle to where it ends up and report->directory to where it is for now ("" if it is nowhere: none is wanted, or
 * the crash is only counted). On a disk that fills up meanwhile the report alone is kept.
 */
int postmortem_keep(struct report *report, const struct observer *o, const struct record_options *options,
		    const char *directory, struct spool *spool, struct err *err);

#endif
