/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how often a sidecar is asked. */
#include "operator/failure_controller/poll_pace.h"

#define SHORTEST_NS (10 * NS_PER_SEC)
#define LONGEST_NS (300 * NS_PER_SEC)
#define PER_POD_NS (20 * NS_PER_MS) /* at most 50 a second of each kind */
#define UNREACHABLE_NS (120 * NS_PER_SEC)

int64_t poll_pace_interval(const struct poll_pace *pace, bool restless, unsigned fails,
			   uint8_t jitter)
{
	size_t n = restless ? pace->n_restless : pace->n_resting;
	int64_t interval =
		MIN(MAX(SHORTEST_NS, (int64_t)MIN(n, (size_t)INT32_MAX) * PER_POD_NS), LONGEST_NS);

	for (unsigned i = 0; i < fails && interval < UNREACHABLE_NS; i++)
		interval *= 2;
	return interval + interval / 2 * jitter / 256;
}
