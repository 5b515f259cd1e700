/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when to sweep over the processes of a container (processes.h). Pure: times and the cost
 * of the sweeps come in.
 *
 * Listing thousands of processes takes milliseconds, so sweeps have an allowance of processor time.
 * While memory changes they use it, at most a fifth of a core for a short time and SWEEP_SHARE of a
 * core in the long run. While it does not change, no process can have grown, and they take
 * SWEEP_REST_SHARE. An OOM kill is followed by a sweep even if the allowance is used up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/units.h"

#define SWEEP_MIN_NS (20 * NS_PER_MS) /* never more often */
#define SWEEP_REST_MIN_NS (2 * NS_PER_SEC) /* without a reason: not more often than this, */
#define SWEEP_REST_MAX_NS (60 * NS_PER_SEC) /* nor more seldom than this */
#define SWEEP_SHARE 64 /* sweeps take at most 1/SWEEP_SHARE of a core */
#define SWEEP_REST_SHARE 2500
#define SWEEP_BURST_SHARE 5
#define SWEEP_ALLOWANCE_MAX_NS (250 * NS_PER_MS)
/* the most by which sweeps after OOM kills may overdraw the allowance */
#define SWEEP_DEBT_MAX_NS NS_PER_SEC

enum sweep_reason {
	SWEEP_REST, /* there is no reason */
	SWEEP_NEWS, /* names of new processes were read since the last sweep */
	SWEEP_MOVED, /* memory changed */
	SWEEP_KILLED, /* the OOM killer took a process */
};

struct sweep_plan {
	int64_t swept_ns; /* when the last sweep began, 0: never */
	int64_t cost_ns; /* processor time of the last sweep */
	int64_t spent_ns; /* the part of the allowance that is used up */
	int64_t refilled_ns; /* when the allowance was last refilled */
};

/* Whether to sweep now. The plan must be initialized to { 0 }. */
bool sweep_plan_due(struct sweep_plan *p, int64_t now_ns, enum sweep_reason reason);

/* To be called after a sweep that began at now_ns, with the processor time that it took. */
void sweep_plan_swept(struct sweep_plan *p, int64_t now_ns, int64_t cost_ns);

/*
 * sweep_plan_may_spend returns whether the allowance permits more work of the same kind now;
 * sweep_plan_spend is to be called with the cost when that work was done.
 */
bool sweep_plan_may_spend(struct sweep_plan *p, int64_t now_ns);
void sweep_plan_spend(struct sweep_plan *p, int64_t cost_ns);
