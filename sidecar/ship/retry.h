/* SPDX-License-Identifier: Apache-2.0 */
/* Whether and when to try again. Pure: time and chance come in as values. */
#ifndef AFTERGLOW_SIDECAR_SHIP_RETRY_H
#define AFTERGLOW_SIDECAR_SHIP_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/ship/fault.h"

/* Tries in a row that got nothing on; then the caller, who has other things to do, comes back later. */
#define RETRY_ATTEMPTS 6
#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS 20000
/* A store that asks for a longer pause than this gets it from the caller. */
#define RETRY_AFTER_MAX_S 60

struct retry {
	unsigned int attempts;
	int64_t kept; /* bytes that the store had for good at the last failure */
};

/*
 * Milliseconds to wait before the next try, or -1: give up. kept counts the
 * bytes that need not be sent again: while it grows there is no giving up. chance is
 * any number: waits are spread between half and the whole.
 */
int64_t retry_next(struct retry *r, const struct fault *fault, int64_t kept, int64_t now_ns, int64_t deadline_ns,
		   uint32_t chance);

#endif
