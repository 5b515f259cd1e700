/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how often sidecars are asked, depending on their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/failure_controller/poll_pace.h"

static int64_t seconds(size_t resting, size_t restless, bool is_restless, unsigned fails)
{
	const struct poll_pace pace = { .n_resting = resting, .n_restless = restless };

	return poll_pace_interval(&pace, is_restless, fails, 0) / NS_PER_SEC;
}

static void restless_pods_do_not_wait_for_those_that_rest(void **state)
{
	(void)state;
	assert_int_equal(seconds(10, 1, true, 0), 10);
	assert_int_equal(seconds(10000, 1, true, 0), 10);
	assert_int_equal(seconds(100000, 500, true, 0), 10);
	/*
	 * If very many are restless, each is asked less often. This bounds what a hostile tenant
	 * can cause.
	 */
	assert_int_equal(seconds(0, 5000, true, 0), 100);
	assert_int_equal(seconds(0, 1000000, true, 0), 300);
}

static void pods_that_rest_share_fifty_requests_a_second(void **state)
{
	(void)state;
	assert_int_equal(seconds(1, 0, false, 0), 10);
	assert_int_equal(seconds(500, 0, false, 0), 10);
	assert_int_equal(seconds(1000, 0, false, 0), 20);
	assert_int_equal(seconds(10000, 0, false, 0), 200);
	/* A failure without any sign is known after some minutes, however large the cluster is. */
	assert_int_equal(seconds(100000, 0, false, 0), 300);
	assert_int_equal(seconds(SIZE_MAX, 0, false, 0), 300);
}

static void who_does_not_answer_is_asked_ever_less(void **state)
{
	static const int64_t rows[] = { 10, 20, 40, 80, 160, 160 };
	(void)state;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(seconds(1, 0, false, i), rows[i]);
	assert_int_equal(seconds(1, 0, false, 4000000000U), 160);
	assert_int_equal(seconds(10000, 0, false, 7), 200);
}

static void the_jitter_adds_up_to_a_half(void **state)
{
	const struct poll_pace pace = { .n_resting = 10000 };
	(void)state;

	assert_true(poll_pace_interval(&pace, false, 0, 255) < 300 * NS_PER_SEC);
	assert_true(poll_pace_interval(&pace, false, 0, 255) > 299 * NS_PER_SEC);
	assert_int_equal(poll_pace_interval(&pace, false, 0, 128), 250 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restless_pods_do_not_wait_for_those_that_rest),
		cmocka_unit_test(pods_that_rest_share_fifty_requests_a_second),
		cmocka_unit_test(who_does_not_answer_is_asked_ever_less),
		cmocka_unit_test(the_jitter_adds_up_to_a_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
