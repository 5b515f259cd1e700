/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of when an Event is emitted again. */
#include "operator/kube/event_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/units.h"

static void each_event_is_emitted_once_until_its_time_is_over(void **state)
{
	struct event_filter filter = { 0 };
	(void)state;

	assert_true(event_filter_is_time(&filter, "a", 1000, 50));
	assert_false(event_filter_is_time(&filter, "a", 1049, 50));
	assert_true(event_filter_lately(&filter, "a", 1049));
	assert_true(event_filter_is_time(&filter, "b", 1049, 50));
	assert_false(event_filter_lately(&filter, "a", 1050));
	assert_true(event_filter_is_time(&filter, "a", 1050, 50));
	assert_false(event_filter_is_time(&filter, "b", 1051, 50));
	event_filter_release(&filter);
}

static void each_event_may_have_a_time_of_its_own(void **state)
{
	struct event_filter filter = { 0 };
	(void)state;

	assert_true(event_filter_is_time(&filter, "hourly", 0, 3600 * NS_PER_SEC));
	assert_true(event_filter_is_time(&filter, "soon", 0, NS_PER_SEC));
	/* An expired key is forgotten, and the other is not, whichever key is asked for. */
	assert_true(event_filter_is_time(&filter, "new", 600 * NS_PER_SEC, NS_PER_SEC));
	assert_int_equal(filter.until.map.n, 2);
	assert_false(event_filter_is_time(&filter, "hourly", 600 * NS_PER_SEC, NS_PER_SEC));
	event_filter_release(&filter);
}

static void what_a_tenant_makes_up_takes_bounded_memory(void **state)
{
	struct event_filter filter = { 0 };
	char key[32];
	(void)state;

	for (unsigned i = 0; i < EVENT_FILTER_MAX; i++) {
		snprintf(key, sizeof(key), "%u/pod", i);
		assert_true(event_filter_is_time(&filter, key, 1, NS_PER_SEC));
	}
	assert_false(event_filter_is_time(&filter, "one more", 1, NS_PER_SEC));
	assert_true(event_filter_is_time(&filter, "one more", 61 * NS_PER_SEC, NS_PER_SEC));
	event_filter_release(&filter);
}

static void one_namespace_leaves_room_for_the_events_of_others(void **state)
{
	struct event_filter filter = { 0 };
	char key[32];
	(void)state;

	for (unsigned i = 0; i < EVENT_FILTER_MAX; i++) {
		snprintf(key, sizeof(key), "hostile/%u OOM", i);
		assert_int_equal(event_filter_is_time(&filter, key, 1, NS_PER_SEC),
				 i < EVENT_FILTER_MAX / 2);
	}
	for (unsigned i = 0; i < EVENT_FILTER_MAX / 4; i++) {
		snprintf(key, sizeof(key), "ml/%u OOM", i);
		assert_true(event_filter_is_time(&filter, key, 1, NS_PER_SEC));
	}
	/* Expired keys give their room back. */
	assert_true(event_filter_is_time(&filter, "hostile/more OOM", 61 * NS_PER_SEC, NS_PER_SEC));
	assert_int_equal(filter.until.map.n, 1);
	event_filter_release(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_is_emitted_once_until_its_time_is_over),
		cmocka_unit_test(each_event_may_have_a_time_of_its_own),
		cmocka_unit_test(what_a_tenant_makes_up_takes_bounded_memory),
		cmocka_unit_test(one_namespace_leaves_room_for_the_events_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
