/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes how long to wait after the Nth failure in a row: the base, doubled up to a
 * ceiling, then spread over [d, 2d) so that many clients do not return together. Pure:
 * the time is an argument, and a seed replaces randomness.
 */
#pragma once

#include <stdint.h>

struct backoff {
	int64_t base_ns;
	int64_t max_ns;
	int64_t reset_ns; /* after this time without a failure, counting starts again */
	unsigned failures;
	int64_t last_ns; /* when the last failure was */
	uint64_t seed; /* not 0 */
};

/*
 * 0.8 s doubling to 30 s, reset after two minutes without a failure: as client-go's reflector does.
 */
void backoff_init(struct backoff *b, uint64_t seed);

/* Counts a failure at now and returns the delay. */
int64_t backoff_next(struct backoff *b, int64_t now_ns);

/* Failures counted and not yet forgotten at now. */
unsigned backoff_failures(const struct backoff *b, int64_t now_ns);

/* Returns a number from [low, high) that the seed decides. */
int64_t random_between(uint64_t *seed, int64_t low, int64_t high);
