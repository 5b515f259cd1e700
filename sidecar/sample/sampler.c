/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when to take the next sample. */
#include "sidecar/sample/sampler.h"

#include <stdbool.h>

#include "lib/macros.h"

#define RATE_MAX 1e18 /* bytes/s; a forged counter may show more, which must not overflow */

/* Each urgent sample costs 20 ms of an allowance, which grows by half of the time that passes. */
#define HASTE_MAX_NS (4 * NS_PER_SEC)

static void sampler_refill(struct sampler *s, int64_t now_ns)
{
	if (s->refilled_ns && now_ns > s->refilled_ns)
		s->spent_ns = MAX(s->spent_ns - (now_ns - s->refilled_ns) / 2, (int64_t)0);
	s->refilled_ns = now_ns;
}

static bool may_hurry(struct sampler *s)
{
	if (s->spent_ns + SAMPLE_CALM_NS > HASTE_MAX_NS)
		return false;
	s->spent_ns += SAMPLE_CALM_NS;
	return true;
}

static int64_t in_haste(struct sampler *s, int64_t delay_ns)
{
	if (delay_ns >= SAMPLE_CALM_NS)
		return delay_ns;
	return may_hurry(s) ? MAX(delay_ns, SAMPLE_MIN_NS) : SAMPLE_CALM_NS;
}

static int64_t sampler_choose(const struct sampler *s, int64_t usage, int64_t limit)
{
	if (limit < 0)
		return SAMPLE_MAX_NS;
	double delay = (double)(limit - usage) / (double)MAX(s->fastest, SAMPLE_FLOOR_RATE) *
		       (double)NS_PER_SEC / 2;
	/* Forged numbers may make delay too small for an integer. */
	return delay > (double)SAMPLE_MAX_NS ? SAMPLE_MAX_NS : (int64_t)MAX(delay, 0.0);
}

int64_t sampler_next(struct sampler *s, int64_t now_ns, int64_t usage, int64_t limit)
{
	int64_t rate = 0, delay;

	if (s->last_ns && now_ns > s->last_ns)
		rate = (int64_t)MIN((double)(usage - s->last_usage) * (double)NS_PER_SEC /
					    (double)(now_ns - s->last_ns),
				    RATE_MAX);
	sampler_refill(s, now_ns);
	s->last_ns = s->looked_ns = now_ns;
	s->last_usage = usage;
	if (now_ns - s->fastest_ns > SAMPLE_RATE_MEMORY_NS)
		s->fastest = 0;
	if (rate >= s->fastest) {
		s->fastest = rate;
		s->fastest_ns = now_ns;
	}
	delay = in_haste(s, sampler_choose(s, usage, limit));
	s->due_ns = now_ns + delay;
	return delay;
}

int64_t sampler_hurry(struct sampler *s, int64_t now_ns)
{
	int64_t since = now_ns - s->looked_ns, left = s->due_ns - now_ns, delay = 0;

	sampler_refill(s, now_ns);
	if (s->looked_ns && since < SAMPLE_CALM_NS) {
		if (left > 0 && left <= SAMPLE_MIN_NS)
			return left;
		delay = MAX((may_hurry(s) ? SAMPLE_MIN_NS : SAMPLE_CALM_NS) -
				    MAX(since, (int64_t)0),
			    (int64_t)0);
	}
	if (left > 0)
		delay = MIN(delay, left);
	if (delay == 0)
		s->looked_ns = now_ns;
	return delay;
}
