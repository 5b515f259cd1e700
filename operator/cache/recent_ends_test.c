/* SPDX-License-Identifier: Apache-2.0 */
#include "operator/cache/recent_ends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void only_what_ended_may_have_ended(void **state)
{
	struct recent_ends ends = { 0 };

	(void)state;
	assert_false(recent_ends_may_have(&ends, "u1", "7"));
	recent_ends_add(&ends, "u1", "9");
	assert_true(recent_ends_may_have(&ends, "u1", "7"));
	assert_false(recent_ends_may_have(&ends, "u2", "7"));
}

static void without_a_uid_or_a_version_anything_may_have_ended(void **state)
{
	struct recent_ends ends = { 0 };

	(void)state;
	assert_true(recent_ends_may_have(&ends, NULL, "7"));
	assert_true(recent_ends_may_have(&ends, "u1", NULL));
	assert_true(recent_ends_may_have(&ends, "u1", "new"));
}

static void what_is_older_than_the_oldest_end_that_is_known_may_have_ended(void **state)
{
	struct recent_ends ends = { 0 };
	char uid[32], rv[32];

	(void)state;
	for (int i = 0; i < RECENT_ENDS_MAX + 10; i++) {
		snprintf(uid, sizeof(uid), "u%d", i);
		snprintf(rv, sizeof(rv), "%d", 1000 + i);
		recent_ends_add(&ends, uid, rv);
	}
	assert_true(recent_ends_may_have(&ends, "other", "1009"));
	assert_false(recent_ends_may_have(&ends, "other", "1010"));
	assert_true(recent_ends_may_have(&ends, "u10", "1010"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_ended_may_have_ended),
		cmocka_unit_test(without_a_uid_or_a_version_anything_may_have_ended),
		cmocka_unit_test(what_is_older_than_the_oldest_end_that_is_known_may_have_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
