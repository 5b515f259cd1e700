/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of when to try again. */
#include "sidecar/ship/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

static struct fault fault_of(enum fault_kind kind)
{
	struct fault fault;

	fault_set(&fault, kind, "x");
	return fault;
}

static void pauses_double_and_spread(void **state)
{
	const struct fault fault = fault_of(FAULT_NETWORK);
	static const int64_t longest[] = { 500, 1000, 2000, 4000, 8000 };
	struct retry least = { 0 }, most = { 0 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(longest); i++) {
		assert_int_equal(retry_next(&least, &fault, 0, 0, 0, 0), longest[i] / 2);
		assert_int_equal(retry_next(&most, &fault, 0, 0, 0, (uint32_t)longest[i] / 2),
				 longest[i]);
	}
	assert_int_equal(retry_next(&least, &fault, 0, 0, 0, 0), -1);
}

static void who_gets_on_is_not_given_up(void **state)
{
	const struct fault fault = fault_of(FAULT_SERVER);
	struct retry r = { 0 };
	(void)state;

	for (int64_t kept = 1; kept < 100; kept++)
		assert_int_equal(retry_next(&r, &fault, kept, 0, 0, 0), 250);
	for (int i = 2; i < RETRY_ATTEMPTS; i++)
		assert_true(retry_next(&r, &fault, 99, 0, 0, 0) > 0);
	assert_int_equal(retry_next(&r, &fault, 99, 0, 0, 0), -1);
}

static void what_is_lost_and_sent_again_is_no_progress(void **state)
{
	const struct fault fault = fault_of(FAULT_SERVER);
	struct retry r = { 0 };
	(void)state;

	for (int i = 1; i < RETRY_ATTEMPTS; i++)
		assert_true(retry_next(&r, &fault, i % 2 ? 99 : 0, 0, 0, 0) > 0);
	assert_int_equal(retry_next(&r, &fault, 99, 0, 0, 0), -1);
}

static void what_seconds_do_not_mend_is_not_tried_again(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < FAULT_KIND_COUNT; kind++) {
		const struct fault fault = fault_of((enum fault_kind)kind);
		struct retry r = { 0 };

		assert_int_equal(retry_next(&r, &fault, 0, 0, 0, 0) > 0,
				 kind == FAULT_NETWORK || kind == FAULT_SERVER);
	}
}

static void the_stores_wish_is_heard(void **state)
{
	struct fault fault = fault_of(FAULT_SERVER);
	struct retry r = { 0 };
	(void)state;

	fault.retry_after_s = 7;
	assert_int_equal(retry_next(&r, &fault, 0, 0, 0, 0), 7000);
	fault.retry_after_s = RETRY_AFTER_MAX_S + 1;
	assert_int_equal(retry_next(&r, &fault, 0, 0, 0, 0), -1);
}

static void a_pause_past_the_deadline_is_not_made(void **state)
{
	const struct fault fault = fault_of(FAULT_NETWORK);
	struct retry r = { 0 };
	(void)state;

	assert_int_equal(
		retry_next(&r, &fault, 0, 10 * NS_PER_SEC, 10 * NS_PER_SEC + 250 * NS_PER_MS, 0),
		-1);
	r = (struct retry){ 0 };
	assert_int_equal(
		retry_next(&r, &fault, 0, 10 * NS_PER_SEC, 10 * NS_PER_SEC + 251 * NS_PER_MS, 0),
		250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_double_and_spread),
		cmocka_unit_test(who_gets_on_is_not_given_up),
		cmocka_unit_test(what_is_lost_and_sent_again_is_no_progress),
		cmocka_unit_test(what_seconds_do_not_mend_is_not_tried_again),
		cmocka_unit_test(the_stores_wish_is_heard),
		cmocka_unit_test(a_pause_past_the_deadline_is_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
