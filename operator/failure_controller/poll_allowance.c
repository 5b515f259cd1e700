/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many more RayFailures a pod may cause. */
#include "operator/failure_controller/poll_allowance.h"

#include <assert.h>

#include "lib/macros.h"

void poll_allowance_init(struct poll_allowance *a, int64_t now_ns)
{
	*a = (struct poll_allowance){ .left = POLL_ALLOWANCE_MAX, .refilled_ns = now_ns };
}

bool poll_allowance_spend(struct poll_allowance *a, int64_t now_ns)
{
	int64_t refills = MAX((now_ns - a->refilled_ns) / POLL_ALLOWANCE_REFILL_NS, (int64_t)0);

	a->left = (unsigned)MIN((int64_t)a->left + refills, (int64_t)POLL_ALLOWANCE_MAX);
	a->refilled_ns += refills * POLL_ALLOWANCE_REFILL_NS;
	assert(a->left <= POLL_ALLOWANCE_MAX);
	if (!a->left)
		return false;
	a->left--;
	return true;
}
