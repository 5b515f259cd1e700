/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a report from what was observed, and writes it into its bundle. */
#pragma once

#include "sidecar/ending/ending.h"
#include "sidecar/ending/options.h"
#include "sidecar/report/report.h"
#include "sidecar/watch/observer.h"

/* Fills everything but the bundle's path. container is its name. */
void postmortem_report(struct observer *o, const struct ending *e, const struct record_options *options,
		       const char *container, struct report *ret_report);

#define POSTMORTEM_LOGS_NEED "a filesystem below /tmp/ray, or where --log_dir leads, that answers: it did not"

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
