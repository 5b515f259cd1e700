/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the RayFailures that this operator wrote by namespace, cluster, class and confidence, for its metric
 * afterglow_failures_recorded_total. Pure: time is an argument.
 *
 * Prometheus' increase() compares samples of a series, and a series that begins at 1 shows no
 * increase. So a new series shows 0 for longer than the usual time between two scrapes, and only
 * then its count.
 *
 * Tenants choose the names of clusters, and RayJobs make a cluster for each run. So the number of
 * series is bounded: a new series replaces the series with the oldest last failure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/kube/metrics.h"

#define FAILURE_COUNTS_MAX METRIC_SERIES_MAX
/* By default, Prometheus scrapes once a minute. */
#define FAILURE_COUNTS_ZERO_NS (70 * NS_PER_SEC)

struct failure_counts {
	struct strmap series; /* the labels -> struct failure_count */
};

void failure_counts_release(struct failure_counts *counts);

/* Counts failure, a complete RayFailure object. now_ns is CLOCK_BOOTTIME. If there is no memory, it is not counted. */
void failure_counts_add(struct failure_counts *counts, const cJSON *failure, int64_t now_ns);

/* Replaces the series of METRIC_FAILURES. */
void failure_counts_publish(const struct failure_counts *counts, int64_t now_ns, struct metrics *metrics);
