/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the delays, under a fake clock. */
#include "operator/kube/backoff.h"

#include "lib/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void delays_double_from_0_8_s_to_30_s_and_are_spread_over_twice_that(void **state)
{
	static const int64_t floor_ms[] = {
		800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000
	};
	(void)state;

	for (uint64_t seed = 1; seed < 200; seed++) {
		struct backoff b;
		int64_t now = 1;
		backoff_init(&b, seed * 7919);
		for (size_t i = 0; i < sizeof(floor_ms) / sizeof(floor_ms[0]); i++) {
			int64_t d = backoff_next(&b, now);
			assert_true(d >= floor_ms[i] * NS_PER_MS);
			assert_true(d < 2 * floor_ms[i] * NS_PER_MS);
			now += d;
		}
	}
}

static void two_minutes_of_peace_after_the_wait_forget_the_failures(void **state)
{
	struct backoff b;
	(void)state;

	backoff_init(&b, 42);
	int64_t now = 0;
	for (int i = 0; i < 6; i++)
		now += backoff_next(&b, now);
	assert_int_equal(backoff_failures(&b, now + 119 * NS_PER_SEC), 6);
	assert_int_equal(backoff_failures(&b, now + 120 * NS_PER_SEC), 0);
	assert_true(backoff_next(&b, now + 120 * NS_PER_SEC) < 1600 * NS_PER_MS);
}

static void jitter_fills_the_whole_range(void **state)
{
	uint64_t seed = 3;
	int64_t lowest = 1000, highest = -1;
	(void)state;

	for (int i = 0; i < 10000; i++) {
		int64_t r = random_between(&seed, 150, 221);
		assert_true(r >= 150 && r < 221);
		lowest = r < lowest ? r : lowest;
		highest = r > highest ? r : highest;
	}
	assert_int_equal(lowest, 150);
	assert_int_equal(highest, 220);
}

static void the_largest_times_do_not_overflow(void **state)
{
	struct backoff b;
	(void)state;

	backoff_init(&b, UINT64_MAX);
	b.failures = 4000000000u;
	b.last_ns = 5;
	assert_true(backoff_next(&b, 6) < 60 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_double_from_0_8_s_to_30_s_and_are_spread_over_twice_that),
		cmocka_unit_test(two_minutes_of_peace_after_the_wait_forget_the_failures),
		cmocka_unit_test(jitter_fills_the_whole_range),
		cmocka_unit_test(the_largest_times_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
