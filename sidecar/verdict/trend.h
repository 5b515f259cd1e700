/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how the memory of a process grew, from the samples that show the process. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/sample/history.h"

/*
 * The latest growth: RSS-SHR rose from `from` to `to` over grew_ns, then stayed the same for
 * flat_ns until the last sample.
 */
struct trend {
	int64_t grew_ns; /* 0: nothing is known of the growth, or there was none */
	int64_t from, to; /* bytes */
	int64_t flat_ns;
	/* the part of flat_ns in which there was no room to grow: see trend_of_process */
	int64_t full_ns;
	int64_t seen_ns; /* from the first to the last sample that shows the process */
};

/* Must be initialized to { 0 }. The samples are added from the oldest to the newest. */
struct trend_state {
	pid_t pid;
	int n;
	/* since_ns: with max == start, flat since then */
	int64_t first_ns, since_ns, start_ns, start, max_ns, max, last_ns, full_ns;
};

/* full: there was no room to grow. */
void trend_add(struct trend_state *t, int64_t at_ns, int64_t own, bool full);
void trend_result(const struct trend_state *t, struct trend *ret_trend);

/*
 * Computes the trend of a process from a whole history. A process that stays the same while the
 * memory is at its limit, or while processes wait for memory, may be a leak that finds nothing
 * more.
 */
void trend_of_process(const struct history *h, pid_t pid, struct trend *ret_trend);
