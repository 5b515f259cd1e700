/* SPDX-License-Identifier: Apache-2.0 */
/* So many requests a second, and some at once after a rest: a token bucket. Pure: the time is an argument. */
#ifndef AFTERGLOW_OPERATOR_KUBE_RATE_LIMIT_H
#define AFTERGLOW_OPERATOR_KUBE_RATE_LIMIT_H

#include <stdint.h>

struct rate_limit {
	int64_t interval_ns; /* between two; 0: no limit */
	int64_t burst;
	int64_t full_ns; /* when the bucket will be full again: the one number that changes */
};

/* per_second 0: no limit. burst at least 1. */
void rate_limit_init(struct rate_limit *l, unsigned per_second, unsigned burst);

/* 0: go ahead, it is counted; else so long to wait, and nothing is counted. */
int64_t rate_limit_take(struct rate_limit *l, int64_t now_ns);

#endif
