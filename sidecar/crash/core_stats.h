/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what happened to the cores of a pod since this sidecar's start, for /metrics. */
#pragma once

#include <stdint.h>

/* X(id, label): why the core itself was not kept. */
#define CORE_DROPS(X) \
	X(BUSY, "busy") /* more cores than are processed at a time */ \
	X(RATE, "rate") /* too many cores in a short time */ \
	X(NO_CORE, "no_core") /* the file is not a core of this container, or could not be read */ \
	X(REPORT_ONLY, \
	  "report_only") /* only the report of this crash is kept: a loop, or no room */ \
	X(NO_FAILURE, \
	  "no_failure") /* the container ended successfully, so nothing is kept of its end */ \
	X(STALE, "stale") /* from an earlier start, and it is not known whether it was reported */ \
	X(NO_ROOM, "no_room") /* no room on the disk of the bundles, or within their limits */ \
	X(TIMEOUT, "timeout") /* packing it took too long */ \
	X(FAILED, "failed") /* packing it, or adding it to the bundle, failed */

enum core_drop {
#define X(id, label) CORE_DROP_##id,
	CORE_DROPS(X)
#undef X
		CORE_DROP_COUNT
};

/* X(id, label) */
#define BACKTRACE_RESULTS(X) X(MADE, "made") X(TIMEOUT, "timeout") X(FAILED, "failed")

enum backtrace_result {
#define X(id, label) BACKTRACE_##id,
	BACKTRACE_RESULTS(X)
#undef X
		BACKTRACE_RESULT_COUNT
};

struct core_stats {
	uint64_t captured; /* cores that were accepted, each counted once */
	uint64_t packed, packed_bytes; /* cores that are in bundles, and their size there */
	uint64_t dropped[CORE_DROP_COUNT];
	uint64_t backtraces[BACKTRACE_RESULT_COUNT];
	unsigned int n_crashes, n_unwinding; /* now, of all containers */
};
