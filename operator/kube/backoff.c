/* SPDX-License-Identifier: Apache-2.0 */
/* Computes delays after failures. */
#include "operator/kube/backoff.h"

#include "lib/macros.h"
#include "lib/units.h"

void backoff_init(struct backoff *b, uint64_t seed)
{
	*b = (struct backoff){
		.base_ns = 800 * NS_PER_MS,
		.max_ns = 30 * NS_PER_SEC,
		.reset_ns = 120 * NS_PER_SEC,
		.seed = seed ? seed : 1,
	};
}

/* xorshift64*. It is good enough for jitter, and reproducible in a test. */
int64_t random_between(uint64_t *seed, int64_t low, int64_t high)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	if (high <= low)
		return low;
	return low + (int64_t)((*seed * 2685821657736338717ULL >> 1) % (uint64_t)(high - low));
}

unsigned backoff_failures(const struct backoff *b, int64_t now_ns)
{
	return b->failures && now_ns - b->last_ns < b->reset_ns ? b->failures : 0;
}

int64_t backoff_next(struct backoff *b, int64_t now_ns)
{
	unsigned before = backoff_failures(b, now_ns);
	int64_t delay = b->base_ns;

	for (unsigned i = 0; i < before && delay < b->max_ns; i++)
		delay *= 2;
	delay = MIN(delay, b->max_ns);
	b->failures = before + 1;
	delay = random_between(&b->seed, delay, 2 * delay);
	/* The delay itself does not count towards forgetting the failures. */
	b->last_ns = now_ns + delay;
	return delay;
}
