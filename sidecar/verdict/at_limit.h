/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a container was at its memory limit for long, with or without an OOM kill: the
 * kernel then reclaims pages as fast as the processes ask for them, and the processes make hardly
 * any progress. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/sample/history.h"
#include "sidecar/verdict/verdict.h"

/* Must be initialized to { 0 }. The samples are added from the oldest to the newest. */
struct at_limit {
	int64_t since_ns, until_ns; /* the latest time at the limit, CLOCK_BOOTTIME; 0: never */
	int64_t first_ns, last_ns; /* the first sample and the last */
	int64_t limit; /* bytes */
	/* limit_hits at since_ns, and at the last sample; -1: not known */
	int64_t hits_before, hits;
	/* the largest value in that time, hundredths of a percent; -1: not known */
	int64_t psi_some;
};

/*
 * Whether the processes hold about `bound` bytes; page cache does not count. A bound of -1 is never
 * filled.
 */
bool at_limit_is_filled(const struct memory *m, int64_t bound);

/* Whether the processes hold about as much as the limit allows, so that none of them can grow. */
bool at_limit_is_met(const struct memory *m);

void at_limit_add(struct at_limit *a, int64_t at_ns, const struct memory *m);

/*
 * Adds a line of evidence if the container was at its limit until the last sample, and for half a
 * minute or more.
 */
void at_limit_evidence(const struct at_limit *a, struct verdict *v);

/* Does both over a whole history: adds all samples, then the evidence. */
void at_limit_of_history(const struct history *h, struct verdict *v);
