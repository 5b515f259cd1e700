/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the token bucket, under a fake clock. */
#include "lib/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/units.h"

static void a_burst_goes_at_once_and_then_so_many_a_second(void **state)
{
	struct budget l = { .spacing_ns = 10 * NS_PER_MS, .burst = 200 };
	int64_t now = 1000 * NS_PER_SEC;
	(void)state;

	for (int i = 0; i < 200; i++)
		assert_int_equal(budget_wait(&l, now), 0);
	assert_int_equal(budget_wait(&l, now), 10 * NS_PER_MS);
	/* A refusal costs nothing. */
	assert_int_equal(budget_wait(&l, now), 10 * NS_PER_MS);
	assert_int_equal(budget_wait(&l, now + 9 * NS_PER_MS), 1 * NS_PER_MS);
	int taken = 0;
	for (int ms = 0; ms < 10000; ms++)
		taken += budget_wait(&l, now + ms * NS_PER_MS) == 0;
	assert_in_range(taken, 995, 1000);
}

static void after_a_rest_there_is_one_burst_and_not_more(void **state)
{
	struct budget l = { .spacing_ns = 10 * NS_PER_MS, .burst = 200 };
	int64_t now = NS_PER_SEC;
	int taken = 0;
	(void)state;

	while (budget_wait(&l, now) == 0)
		taken++;
	assert_int_equal(taken, 200);
	now += 3600 * NS_PER_SEC;
	for (taken = 0; budget_wait(&l, now) == 0; taken++)
		;
	assert_int_equal(taken, 200);
}

static void a_clock_that_stands_still_or_goes_back_gives_nothing(void **state)
{
	struct budget l = { .spacing_ns = 60 * NS_PER_SEC, .burst = 64 };
	int64_t start = 1000 * NS_PER_SEC;
	(void)state;

	while (budget_take(&l, start))
		;
	assert_false(budget_take(&l, start));
	assert_false(budget_take(&l, 0));
	assert_false(budget_take(&l, start + l.spacing_ns - 1));
	assert_true(budget_take(&l, start + l.spacing_ns));
	assert_false(budget_take(&l, start + l.spacing_ns));
	/* The rest of a spacing still counts. */
	assert_true(budget_take(&l, start + 5 * l.spacing_ns / 2));
	assert_true(budget_take(&l, start + 3 * l.spacing_ns));
	assert_false(budget_take(&l, start + 3 * l.spacing_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_goes_at_once_and_then_so_many_a_second),
		cmocka_unit_test(after_a_rest_there_is_one_burst_and_not_more),
		cmocka_unit_test(a_clock_that_stands_still_or_goes_back_gives_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
