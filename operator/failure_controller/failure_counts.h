/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the RayFailures that this operator wrote by namespace, cluster, owner, container, class
 * and confidence, for its metric afterglow_failures_recorded_total. Pure: time is an argument.
 *
 * Prometheus' increase() compares samples of a series, and a series that begins at 1 shows no
 * increase. So a new series shows 0 for longer than the usual time between two scrapes, and only
 * then its count.
 *
 * Tenants choose the names of clusters, and RayJobs make a cluster for each run. So the number of
 * series is bounded: a new series replaces one of the namespace that has most, the one with the
 * oldest last failure.
 *
 * afterglow_failure_last has the last failure of each series, and its verdict and advice, which
 * alerts quote, only if quote_verdicts is set: whoever reads the metrics reads these of all
 * namespaces. Both have words of tenants in them: they are escaped, and cut.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

#include "lib/units.h"
#include "operator/kube/metrics.h"
#include "operator/kube/namespace_share.h"

#define FAILURE_COUNTS_MAX METRIC_SERIES_MAX
/* By default, Prometheus scrapes once a minute. */
#define FAILURE_COUNTS_ZERO_NS (70 * NS_PER_SEC)
/* The longest time that an alert looks back, and a little more. */
#define FAILURE_COUNTS_LAST_NS (65 * 60 * NS_PER_SEC)
#define FAILURE_COUNTS_TEXT_MAX 256 /* bytes of a verdict or an advice */

struct failure_counts {
	struct namespace_map series; /* "NAMESPACE labels" -> struct failure_count */
	bool quote_verdicts;
};

void failure_counts_release(struct failure_counts *counts);

/*
 * Counts failure, a complete RayFailure object. now_ns is CLOCK_BOOTTIME. If there is no memory, it
 * is not counted.
 */
void failure_counts_add(struct failure_counts *counts, const cJSON *failure, int64_t now_ns);

/* Replaces the series of METRIC_FAILURES and METRIC_FAILURE_LAST. */
void failure_counts_publish(const struct failure_counts *counts, int64_t now_ns,
			    struct metrics *metrics);
