/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how many RayFailures a pod can cause by its sidecar's answers: 64 at once, the length of
 * a journal, and then one a minute. A hostile pod cannot cause more. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/units.h"

#define POLL_ALLOWANCE_MAX 64
#define POLL_ALLOWANCE_REFILL_NS (60 * NS_PER_SEC)

struct poll_allowance {
	unsigned left;
	int64_t refilled_ns; /* boottime */
};

/* Starts with the full allowance. */
void poll_allowance_init(struct poll_allowance *allowance, int64_t now_ns);
/* Uses up one RayFailure of the allowance. Returns false if none is left. */
bool poll_allowance_spend(struct poll_allowance *allowance, int64_t now_ns);
