/* SPDX-License-Identifier: Apache-2.0 */
/* Implements a token bucket. */
#include "operator/kube/rate_limit.h"

#include "lib/macros.h"
#include "lib/units.h"

void rate_limit_init(struct rate_limit *l, unsigned per_second, unsigned burst)
{
	*l = (struct rate_limit){
		.interval_ns = per_second ? NS_PER_SEC / per_second : 0,
		.burst = MAX(burst, 1),
	};
}

int64_t rate_limit_take(struct rate_limit *l, int64_t now_ns)
{
	/* Each request uses up one interval. The bucket holds `burst` intervals. */
	int64_t full_ns = MAX(l->full_ns, now_ns) + l->interval_ns;
	int64_t over_ns = full_ns - now_ns - l->burst * l->interval_ns;

	if (over_ns > 0)
		return over_ns;
	l->full_ns = full_ns;
	return 0;
}
