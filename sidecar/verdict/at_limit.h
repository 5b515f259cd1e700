/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A container that stood at its memory limit for long, also without an OOM kill: the kernel takes back pages as fast as the processes
 * ask for them, and they hardly get on. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_AT_LIMIT_H
#define AFTERGLOW_SIDECAR_VERDICT_AT_LIMIT_H

#include <stdint.h>

#include "sidecar/sample/history.h"
#include "sidecar/verdict/verdict.h"

/* Starts from { 0 }-initialized state; the samples come oldest first. */
struct at_limit {
	int64_t since_ns, until_ns; /* the latest time at the limit, CLOCK_BOOTTIME; 0: never */
	int64_t first_ns, last_ns; /* the first sample and the last */
	int64_t limit; /* bytes */
	int64_t hits_before, hits; /* limit_hits when it began, and by now; -1: not known */
	int64_t psi_some; /* the most of it, hundredths of a percent; -1: not known */
};

void at_limit_add(struct at_limit *a, int64_t at_ns, const struct memory *m);

/* Adds a line of evidence if it was there until the last sample, and for half a minute or more. */
void at_limit_evidence(const struct at_limit *a, struct verdict *v);

/* Both of them over a whole history. */
void at_limit_of_history(const struct history *h, struct verdict *v);

#endif
