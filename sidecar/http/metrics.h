/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar's metrics in Prometheus' text format 0.0.4. Pure. The table is metrics.def. */
#ifndef AFTERGLOW_SIDECAR_HTTP_METRICS_H
#define AFTERGLOW_SIDECAR_HTTP_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "lib/strbuf.h"
#include "sidecar/crash/core_stats.h"
#include "sidecar/sample/memcg.h"
#include "sidecar/spool/quota.h"
#include "sidecar/spool/ship_plan.h"

#define HTTP_CONTAINERS_MAX 32
#define METRICS_TEXT_MAX (256 * 1024)

struct container_values {
	char name[64];
	struct memory memory; /* usage -1: no sample yet */
	uint32_t n_processes;
	uint64_t samples;
	int64_t delay_ns;
	int64_t spilled; /* bytes of objects on the disk; -1: not known */
	int64_t spill_left_ns; /* until the disk is full; -1: never, or not known */
	int64_t growth; /* bytes per hour of memory that grows for hours; 0: none does */
	int64_t growth_left_ns; /* until the memory limit is met, with growth */
};

struct pod_values {
	struct container_values containers[HTTP_CONTAINERS_MAX];
	size_t n_containers;
	uint64_t failures[FAILURE_CLASS_COUNT];
	int64_t last_failure_unix_ns; /* 0: none */
	int64_t spool_bytes; /* -1: no spool */
	int64_t spool_bundles;
	bool spool_failing;
	uint64_t dropped[DROP_COUNT];
	uint64_t counted;
	bool takes_cores;
	struct core_stats cores;
	bool ships; /* there is a store to bring bundles to */
	bool store_failing;
	uint64_t shipped, ship_failed[SHIP_KIND_COUNT];
	int64_t heartbeat_age_ns, longest_pause_ns; /* of the event loop */
	uint64_t output_dropped;
};

void metrics_render(const struct pod_values *v, struct strbuf *out);

#endif
