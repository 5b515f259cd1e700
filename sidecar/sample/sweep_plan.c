/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when to sweep over the processes of a container. */
#include "sidecar/sample/sweep_plan.h"

#include "lib/macros.h"

#define COST_MAX_NS NS_PER_SEC /* if the clock jumps, sweeps must not stop */

static void sweep_plan_refill(struct sweep_plan *p, int64_t now_ns)
{
	if (p->refilled_ns && now_ns > p->refilled_ns)
		p->spent_ns =
			MAX(p->spent_ns - (now_ns - p->refilled_ns) / SWEEP_SHARE, (int64_t)0);
	p->refilled_ns = now_ns;
}

bool sweep_plan_may_spend(struct sweep_plan *p, int64_t now_ns)
{
	sweep_plan_refill(p, now_ns);
	return p->spent_ns < SWEEP_ALLOWANCE_MAX_NS;
}

bool sweep_plan_due(struct sweep_plan *p, int64_t now_ns, enum sweep_reason reason)
{
	int64_t since = now_ns - p->swept_ns;

	sweep_plan_refill(p, now_ns);
	if (!p->swept_ns)
		return true;
	if (reason == SWEEP_KILLED)
		return p->spent_ns < SWEEP_ALLOWANCE_MAX_NS + SWEEP_DEBT_MAX_NS;
	if (since >= MIN(MAX(p->cost_ns * SWEEP_REST_SHARE, SWEEP_REST_MIN_NS), SWEEP_REST_MAX_NS))
		return true;
	if (!sweep_plan_may_spend(p, now_ns))
		return false;
	return reason == SWEEP_NEWS ?
		       since >= SWEEP_REST_MIN_NS :
		       reason == SWEEP_MOVED &&
			       since >= MAX(SWEEP_MIN_NS, p->cost_ns * SWEEP_BURST_SHARE);
}

void sweep_plan_spend(struct sweep_plan *p, int64_t cost_ns)
{
	p->spent_ns += MIN(MAX(cost_ns, (int64_t)0), COST_MAX_NS);
}

void sweep_plan_swept(struct sweep_plan *p, int64_t now_ns, int64_t cost_ns)
{
	p->swept_ns = now_ns;
	p->cost_ns = MIN(MAX(cost_ns, (int64_t)0), COST_MAX_NS);
	sweep_plan_spend(p, cost_ns);
}
