/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the sidecar's metrics in Prometheus' text format 0.0.4. Pure. metrics.def has the names
 * and help texts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "lib/strbuf.h"
#include "sidecar/crash/core_stats.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/sample/task_memory.h"
#include "sidecar/spool/quota.h"
#include "sidecar/spool/ship_plan.h"

#define HTTP_CONTAINERS_MAX 32 /* further containers are left out */
#define METRICS_TEXT_MAX (256 * 1024) /* bytes */

struct container_values {
	char name[64];
	struct memory memory; /* usage -1: no sample yet */
	uint32_t n_processes;
	uint64_t samples; /* the number of samples so far */
	int64_t delay_ns; /* from one sample to the next */
	int64_t spilled; /* bytes of objects on the disk; -1: not known */
	int64_t spill_left_ns; /* until the disk is full; -1: never, or not known */
	/* bytes per hour by which memory grows towards its limit; 0: it does not grow */
	int64_t growth;
	int64_t growth_left_ns; /* with growth: until memory reaches its limit */
	const struct task_memory *tasks; /* NULL: none */
};

struct pod_values {
	struct container_values containers[HTTP_CONTAINERS_MAX];
	size_t n_containers;
	uint64_t failures[FAILURE_CLASS_COUNT]; /* by class */
	int64_t last_failure_unix_ns; /* 0: none */
	int64_t spool_bytes; /* -1: there is no spool */
	int64_t spool_bundles;
	bool spool_failing; /* the spool cannot be written */
	uint64_t dropped[DROP_COUNT]; /* as in struct spool_stats */
	uint64_t counted; /* as in struct spool_stats */
	bool takes_cores; /* the options ask for cores */
	struct core_stats cores;
	bool ships; /* there is a store to which bundles are shipped */
	bool store_failing; /* the last attempt to ship a bundle failed */
	uint64_t shipped, ship_failed[SHIP_KIND_COUNT]; /* as in struct shipper_stats */
	int64_t heartbeat_age_ns, longest_pause_ns; /* of the event loop */
	/* lines and reports that were dropped, because no process read stdout or stderr */
	uint64_t output_dropped;
};

/* Appends the metrics of v. The ceiling of out should be METRICS_TEXT_MAX. */
void metrics_render(const struct pod_values *v, struct strbuf *out);
