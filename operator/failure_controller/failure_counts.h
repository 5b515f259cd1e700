/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the RayFailures that this operator wrote by namespace, cluster, class and confidence, for its metric
 * afterglow_failures_recorded_total. Pure: time is an argument.
 *
 * Prometheus' increase() compares samples of one series, and a series that begins at 1 has had no increase. So a new series
 * shows 0 for a while that is longer than the usual time between two scrapes, and only then what was counted.
 *
 * Tenants choose the names of clusters, and RayJobs make a cluster for each run. So there is a ceiling: for a new series the one
 * whose last failure is the oldest goes.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_COUNTS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_COUNTS_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/manager/metrics.h"

#define FAILURE_COUNTS_MAX METRIC_SERIES_MAX
/* Prometheus scrapes once a minute unless its configuration says otherwise. */
#define FAILURE_COUNTS_ZERO_NS (70 * NS_PER_SEC)

struct failure_counts {
	struct strmap series; /* the labels -> struct failure_count */
};

void failure_counts_release(struct failure_counts *counts);

/* Counts failure, a whole RayFailure. now_ns is the time since boot. Without memory it is not counted. */
void failure_counts_add(struct failure_counts *counts, const cJSON *failure, int64_t now_ns);

/* Sets the series of METRIC_FAILURES anew. */
void failure_counts_publish(const struct failure_counts *counts, int64_t now_ns, struct metrics *metrics);

#endif
