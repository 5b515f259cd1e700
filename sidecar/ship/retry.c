/* SPDX-License-Identifier: Apache-2.0 */
/* Computes doubling pauses with jitter, up to a limit. */
#include "sidecar/ship/retry.h"

#include "lib/macros.h"
#include "lib/units.h"

/*
 * Returns whether a pause of seconds may help. A full disk or a wrong clock takes minutes; the
 * caller handles these.
 */
static bool passes_quickly(enum fault_kind kind)
{
	return kind == FAULT_NETWORK || kind == FAULT_SERVER;
}

int64_t retry_next(struct retry *r, const struct fault *fault, int64_t kept, int64_t now_ns,
		   int64_t deadline_ns, uint32_t chance)
{
	if (!passes_quickly(fault->kind) || fault->retry_after_s > RETRY_AFTER_MAX_S)
		return -1;
	if (kept > r->kept)
		r->attempts = 0;
	/* What the store lost and gets again is none: it could keep us until the deadline. */
	r->kept = MAX(r->kept, kept);
	if (++r->attempts >= RETRY_ATTEMPTS)
		return -1;
	int64_t wait = MIN((int64_t)RETRY_FIRST_MS << (r->attempts - 1), RETRY_MAX_MS);
	wait = wait / 2 + (int64_t)(chance % (uint32_t)(wait / 2 + 1));
	wait = MAX(wait, fault->retry_after_s * 1000);
	if (deadline_ns > 0 && now_ns + wait * NS_PER_MS >= deadline_ns)
		return -1;
	return wait;
}
