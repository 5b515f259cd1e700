/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the plan of sweeps with a fake clock. */
#include "sidecar/sample/sweep_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MS NS_PER_MS
#define S NS_PER_SEC
#define MINUTE (60 * S)

/*
 * Returns how many sweeps there are in that time, if each takes cost_ns and the plan is asked every
 * every_ns.
 */
static int64_t sweeps(int64_t ns, int64_t every_ns, int64_t cost_ns, enum sweep_reason reason)
{
	struct sweep_plan p = { 0 };
	int64_t n = 0;

	for (int64_t now = S; now < S + ns; now += every_ns)
		if (sweep_plan_due(&p, now, reason)) {
			sweep_plan_swept(&p, now, cost_ns);
			n++;
		}
	return n;
}

static void at_rest_sweeps_take_a_small_share_of_a_core_whatever_they_cost(void **state)
{
	static const int64_t costs_ns[] = { MS / 10, MS, 4 * MS, 20 * MS };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(costs_ns); i++) {
		int64_t n = sweeps(10 * MINUTE, S, costs_ns[i], SWEEP_REST);

		assert_true(n * costs_ns[i] <= 10 * MINUTE / SWEEP_REST_SHARE + costs_ns[i]);
		assert_true(n >= 10); /* one a minute, whatever it takes */
	}
	assert_int_equal(sweeps(MINUTE, S, MS / 10, SWEEP_REST), 30);
}

static void where_memory_moves_they_are_many_at_first_and_bounded_in_the_long_run(void **state)
{
	(void)state;
	/* With few processes they are as frequent as possible. */
	assert_int_equal(sweeps(S, 5 * MS, MS / 20, SWEEP_MOVED), 50);
	/*
	 * With ten thousand processes a sweep takes 30 ms: eight in little more than a second, and
	 * in an hour one part in 64 of the time.
	 */
	assert_in_range(sweeps(3 * S / 2, 5 * MS, 30 * MS, SWEEP_MOVED), 8, 10);
	assert_in_range(sweeps(60 * MINUTE, 5 * MS, 30 * MS, SWEEP_MOVED) * 30 * MS,
			60 * MINUTE / 70,
			60 * MINUTE / SWEEP_SHARE + SWEEP_ALLOWANCE_MAX_NS + 30 * MS);
}

static void an_oom_kill_is_followed_by_a_sweep_when_nothing_is_left(void **state)
{
	struct sweep_plan p = { 0 };
	(void)state;

	assert_true(sweep_plan_due(&p, S, SWEEP_REST));
	sweep_plan_swept(&p, S, MS);
	sweep_plan_spend(&p, SWEEP_ALLOWANCE_MAX_NS + 10 * MS);
	assert_false(sweep_plan_may_spend(&p, S + MS));
	assert_false(sweep_plan_due(&p, S + 100 * MS, SWEEP_MOVED));
	assert_true(sweep_plan_due(&p, S + 100 * MS, SWEEP_KILLED));
	/* Endless kills in a container do not cause endless sweeps. */
	assert_in_range(sweeps(60 * MINUTE, 5 * MS, 30 * MS, SWEEP_KILLED) * 30 * MS, S,
			60 * MINUTE / SWEEP_SHARE + SWEEP_ALLOWANCE_MAX_NS + SWEEP_DEBT_MAX_NS +
				30 * MS);
}

static void new_names_are_swept_for_soon(void **state)
{
	struct sweep_plan p = { 0 };
	(void)state;

	sweep_plan_swept(&p, S, 10 * MS);
	assert_false(sweep_plan_due(&p, 2 * S, SWEEP_NEWS));
	assert_false(sweep_plan_due(&p, 3 * S, SWEEP_REST));
	assert_true(sweep_plan_due(&p, 3 * S, SWEEP_NEWS));
}

static void a_cost_that_cannot_be_is_not_believed(void **state)
{
	struct sweep_plan p = { 0 };
	(void)state;

	sweep_plan_swept(&p, S, INT64_MAX);
	assert_true(sweep_plan_due(&p, S + SWEEP_REST_MAX_NS, SWEEP_REST));
	sweep_plan_swept(&p, S, -S);
	assert_true(sweep_plan_due(&p, S + SWEEP_REST_MIN_NS, SWEEP_REST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_rest_sweeps_take_a_small_share_of_a_core_whatever_they_cost),
		cmocka_unit_test(where_memory_moves_they_are_many_at_first_and_bounded_in_the_long_run),
		cmocka_unit_test(an_oom_kill_is_followed_by_a_sweep_when_nothing_is_left),
		cmocka_unit_test(new_names_are_swept_for_soon),
		cmocka_unit_test(a_cost_that_cannot_be_is_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
