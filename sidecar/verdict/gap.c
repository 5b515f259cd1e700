/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a container that ended while no sidecar was running. */
#include "sidecar/verdict/gap.h"

#include "lib/units.h"

/*
 * The container counts as nearly full if it was so at the last sample, or if it was half as full
 * and grew so fast that the rest was gone after this time.
 */
#define NEARLY_FULL 0.95
#define HALF_FULL 0.5
#define SOON_FULL_NS (500 * NS_PER_MS)

void gap_evidence(const struct gap *g, struct verdict *v)
{
	verdict_add_evidence(v, "sidecar",
			     "it was down from %s to %s; the container ended in between",
			     TIME_TEXT(g->from_unix_ns), TIME_TEXT(g->until_unix_ns));
	if (g->rebooted)
		verdict_add_evidence(
			v, "boot ID",
			"another one than that of the last sample: the machine was restarted");
	verdict_add_missing(v, "wait status, and memory counters after the death",
			    "a running sidecar: see why it was restarted");
}

bool gap_near_limit(const struct gap *g, const struct memory *last, struct verdict *v)
{
	if (last->limit <= 0 || last->usage < 0)
		return false;
	double used = (double)last->usage / (double)last->limit;
	bool soon = used >= HALF_FULL && used < NEARLY_FULL && g->to_limit_ns >= 0 &&
		    g->to_limit_ns <= MIN(SOON_FULL_NS, g->until_unix_ns - g->from_unix_ns);
	if (soon)
		verdict_add_evidence(
			v, "samples",
			"%.0f %% of the limit in use in the last one, and %s more to it at that rate",
			100 * used, DURATION_TEXT(g->to_limit_ns));
	else
		verdict_add_evidence(v, "samples", "%.0f %% of the limit in use in the last one",
				     100 * used);
	return soon || used >= NEARLY_FULL;
}
