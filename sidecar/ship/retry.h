/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether and when afterglow-ship tries an operation again. Pure: time and chance are
 * arguments.
 */
#pragma once

#include <stdint.h>

#include "sidecar/ship/fault.h"

/*
 * Attempts in a row without progress, after which afterglow-ship gives up; the sidecar runs it
 * again later.
 */
#define RETRY_ATTEMPTS 6
#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS 20000
/* If a store asks for a longer wait than this, afterglow-ship gives up, and the sidecar waits. */
#define RETRY_AFTER_MAX_S 60

/* The caller zeroes it before the first attempt. */
struct retry {
	unsigned int attempts; /* in a row without progress */
	int64_t kept; /* the most bytes that the store had at a failure */
};

/*
 * Returns the milliseconds to wait before the next attempt, or -1 to give up: after RETRY_ATTEMPTS,
 * if the fault is not one of network or server, or if the wait would pass deadline_ns
 * (CLOCK_BOOTTIME; 0: none). kept is the number of bytes that need not be sent again; while it
 * is more than ever before, attempts are not limited. chance is any random number: it spreads waits
 * between a half and the whole.
 */
int64_t retry_next(struct retry *r, const struct fault *fault, int64_t kept, int64_t now_ns,
		   int64_t deadline_ns, uint32_t chance);
