/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket: limits the requests in a second, and permits some at once after a rest. Pure: the
 * time is an argument.
 */
#pragma once

#include <stdint.h>

struct rate_limit {
	int64_t interval_ns; /* between two; 0: no limit */
	int64_t burst;
	int64_t full_ns; /* when the bucket will be full again; this is the whole state */
};

/* per_second 0: no limit. burst at least 1. */
void rate_limit_init(struct rate_limit *l, unsigned per_second, unsigned burst);

/* Returns 0 and counts the request if it may be sent now; otherwise the time to wait. */
int64_t rate_limit_take(struct rate_limit *l, int64_t now_ns);
