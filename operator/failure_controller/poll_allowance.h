/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many RayFailures a pod may still cause by what its sidecar says: a journal of 64 at once,
 * then one a minute. A hostile pod can make no more of them. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_POLL_ALLOWANCE_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_POLL_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/units.h"

#define POLL_ALLOWANCE_MAX 64
#define POLL_ALLOWANCE_REFILL_NS (60 * NS_PER_SEC)

struct poll_allowance {
	unsigned left;
	int64_t refilled_ns; /* boottime */
};

/* Full. */
void poll_allowance_init(struct poll_allowance *allowance, int64_t now_ns);
/* Takes one; false: there is none. */
bool poll_allowance_spend(struct poll_allowance *allowance, int64_t now_ns);

#endif
