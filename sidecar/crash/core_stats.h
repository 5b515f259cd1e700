/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what happened to the cores of a pod since this sidecar's start, for /metrics. */
#ifndef AFTERGLOW_SIDECAR_CRASH_CORE_STATS_H
#define AFTERGLOW_SIDECAR_CRASH_CORE_STATS_H

#include <stdint.h>

/* X(id, label): why the core itself was not kept. */
#define CORE_DROPS(X) \
	X(BUSY, "busy")               /* more under way than are dealt with at a time */ \
	X(RATE, "rate")               /* too many in a short time */ \
	X(NO_CORE, "no_core")         /* what was handed over is none, or could not be read */ \
	X(REPORT_ONLY, "report_only") /* nothing but the report is kept of this crash: a loop, or no room */ \
	X(NO_FAILURE, "no_failure")   /* the container ended well in the end, and so nothing is kept of that end */ \
	X(STALE, "stale")             /* of an earlier start, and whether it was told of is not known */ \
	X(NO_ROOM, "no_room")         /* on the disk of the bundles, or by their bounds */ \
	X(TIMEOUT, "timeout")         /* packing it took too long */ \
	X(FAILED, "failed")           /* packing it, or adding it to the bundle, failed */

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
	uint64_t captured; /* taken up: a core, seen for the first time */
	uint64_t packed, packed_bytes; /* now in bundles, and their size there */
	uint64_t dropped[CORE_DROP_COUNT];
	uint64_t backtraces[BACKTRACE_RESULT_COUNT];
};

#endif
