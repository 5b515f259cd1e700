/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of when something is told again. */
#include "operator/kube/event_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void each_thing_is_told_once_until_its_time_is_over(void **state)
{
	struct strmap told = { 0 };
	(void)state;

	assert_true(event_filter_is_time(&told, "a", 1000, 50));
	assert_false(event_filter_is_time(&told, "a", 1049, 50));
	assert_true(event_filter_is_time(&told, "b", 1049, 50));
	assert_true(event_filter_is_time(&told, "a", 1050, 50));
	assert_false(event_filter_is_time(&told, "b", 1051, 50));
	/* What is older is not kept. */
	assert_true(event_filter_is_time(&told, "c", 5000, 50));
	assert_null(strmap_get(&told, "a"));
	assert_null(strmap_get(&told, "b"));
	strmap_release(&told, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thing_is_told_once_until_its_time_is_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
