/* SPDX-License-Identifier: Apache-2.0 */
/* When to look again. */
#include "sidecar/sample/sampler.h"

#include "lib/macros.h"

#define RATE_MAX 1e18 /* bytes/s; what a forged counter shows more is not worth an overflow */

/* A sample in haste costs 20 ms of the allowance; it grows by half of the time that passes. */
#define HASTE_MAX_NS (4 * NS_PER_SEC)

static int64_t in_haste(struct sampler *s, int64_t delay_ns)
{
	if (delay_ns >= SAMPLE_CALM_NS)
		return delay_ns;
	if (s->spent_ns + SAMPLE_CALM_NS > HASTE_MAX_NS)
		return SAMPLE_CALM_NS;
	s->spent_ns += SAMPLE_CALM_NS;
	return MAX(delay_ns, SAMPLE_MIN_NS);
}

int64_t sampler_next(struct sampler *s, int64_t now_ns, int64_t usage, int64_t limit)
{
	int64_t rate = 0, headroom;
	double delay;

	if (s->last_ns && now_ns > s->last_ns)
		rate = (int64_t)MIN((double)(usage - s->last_usage) * (double)NS_PER_SEC / (double)(now_ns - s->last_ns),
				    RATE_MAX);
	if (s->last_ns && now_ns > s->last_ns)
		s->spent_ns = MAX(s->spent_ns - (now_ns - s->last_ns) / 2, (int64_t)0);
	s->last_ns = now_ns;
	s->last_usage = usage;
	if (now_ns - s->fastest_ns > SAMPLE_RATE_MEMORY_NS)
		s->fastest = 0;
	if (rate >= s->fastest) {
		s->fastest = rate;
		s->fastest_ns = now_ns;
	}
	if (limit < 0)
		return SAMPLE_MAX_NS;
	headroom = limit - usage;
	delay = (double)headroom / (double)MAX(s->fastest, SAMPLE_FLOOR_RATE) * (double)NS_PER_SEC / 2;
	if (delay > (double)SAMPLE_MAX_NS)
		return SAMPLE_MAX_NS;
	/* Below the limit by forged numbers, delay may be too small for an integer. */
	return in_haste(s, (int64_t)MAX(delay, 0.0));
}
