/* SPDX-License-Identifier: Apache-2.0 */
/* When to look again. */
#include "sidecar/sample/sampler.h"

#include "lib/macros.h"

#define RATE_MAX 1e18 /* bytes/s; what a forged counter shows more is not worth an overflow */

int64_t sampler_next(struct sampler *s, int64_t now_ns, int64_t usage, int64_t limit)
{
	int64_t rate = 0, headroom;
	double delay;

	if (s->last_ns && now_ns > s->last_ns)
		rate = (int64_t)MIN((double)(usage - s->last_usage) * (double)NS_PER_SEC / (double)(now_ns - s->last_ns),
				    RATE_MAX);
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
	if (delay < (double)SAMPLE_MIN_NS)
		return SAMPLE_MIN_NS;
	return delay > (double)SAMPLE_MAX_NS ? SAMPLE_MAX_NS : (int64_t)delay;
}
