/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a report from what was observed, and writes it into its bundle. */
#ifndef AFTERGLOW_SIDECAR_RECORD_POSTMORTEM_H
#define AFTERGLOW_SIDECAR_RECORD_POSTMORTEM_H

#include "sidecar/record/observer.h"
#include "sidecar/record/options.h"
#include "sidecar/report/report.h"

/* How a container ended, or that it did not. Times are CLOCK_BOOTTIME. */
struct ending {
	bool container_lives; /* only a process died */
	bool status_known; /* the launcher reported the wait status */
	int wait_status;
	const struct unstarted *unstarted; /* the container's own; NULL: its command was executed, as far as is known */
	int64_t started_ns, ended_ns;
	struct memory after; /* the counters right after */
	bool after_known;
	struct limits limits; /* right after, zero when the launcher died too */
	bool group_ended_by_us;
	bool pod_terminating;
	struct stop_request asked; /* to stop; signal 0: it was not, as far as is known */
	/*
	 * No sidecar was running then, and ended_ns is the last sign of life; NULL: a sidecar was
	 * running.
	 */
	const struct gap *gap;
	const struct crash_info *crash; /* from its core; NULL: there is none */
	const struct strbuf *backtrace; /* with crash */
	const char *core_needs; /* without crash: what a core would need; outlives the report */
	bool container_over; /* with crash and container_lives: the container has ended since */
	bool core_is_old; /* the core is from an earlier start of the container */
	/* With container_lives: the process of Ray's own that has ended; NULL: none. */
	const struct ray_process_end *process;
	int64_t process_oom_ns; /* the OOM killer's last visit that the container outlived; 0: none */
	/*
	 * With container_lives: what Ray logged about the dead worker; NULL: only the kernel's
	 * counters show the death.
	 */
	const struct ray_said *ray;
};

/* Fills everything but the bundle's path. container is its name. */
void postmortem_report(struct observer *o, const struct ending *e, const struct record_options *options,
		       const char *container, struct report *ret_report);

#define POSTMORTEM_LOGS_NEED "a filesystem below /tmp/ray, or where --log_dir leads, that answers: it did not"

/*
 * Does what must precede the moment when the bundle of r becomes visible. If o->naming is set,
 * calls it instead.
 */
void postmortem_named(const struct observer *o, const struct report *r);

/* Where the bundles of r's container go, below the store; the last component is the container's. */
void postmortem_parent_path(const struct identity *id, char *path, size_t size);

/*
 * Writes the bundle to directory (NULL: nowhere), as much of it as spool admits (NULL: all). Sets
 * report->bundle to its final place and report->directory to its present directory ("": there is no
 * bundle, because none is wanted or the crash is only counted). If the disk fills up meanwhile,
 * only the report is kept.
 */
int postmortem_keep(struct report *report, const struct observer *o, const struct record_options *options,
		    const char *directory, struct spool *spool, struct err *err);

#endif
