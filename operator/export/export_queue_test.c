/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the queue of records. */
#include "operator/export/export_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct export_queue queue;

static int release(void **state)
{
	(void)state;
	export_queue_release(&queue);
	assert_int_equal(queue.share.n, 0);
	assert_int_equal(queue.share.counts.n, 0);
	return 0;
}

static bool add(const char *namespace, const char *name, int64_t ready_ns)
{
	return export_queue_add(&queue, namespace, name, cJSON_CreateObject(), ready_ns);
}

static void records_are_held_until_they_are_ready_and_leave_in_their_order(void **state)
{
	(void)state;
	assert_true(add("ml", "a", 10));
	assert_true(add("ml", "b", 20));
	assert_true(add("other", "c", 30));
	assert_int_equal(export_queue_ready(&queue, 9), 0);
	assert_int_equal(export_queue_ready(&queue, 20), 2);
	export_queue_drop(&queue, 2);
	assert_int_equal(queue.share.n, 1);
	assert_string_equal(queue.first->key, "other/c");
	assert_true(add("ml", "d", 31));
	assert_int_equal(export_queue_ready(&queue, INT64_MAX), 2);
}

static void a_request_has_no_more_records_than_its_bound(void **state)
{
	(void)state;
	for (int i = 0; i < EXPORT_BATCH_MAX + 1; i++)
		assert_true(add("ml", "a", 0));
	assert_int_equal(export_queue_ready(&queue, 1), EXPORT_BATCH_MAX);
	export_queue_drop(&queue, EXPORT_BATCH_MAX);
	assert_int_equal(export_queue_ready(&queue, 1), 1);
}

static void one_namespace_leaves_room_for_others(void **state)
{
	size_t n = 0;
	(void)state;

	while (add("flood", "a", 0))
		n++;
	assert_int_equal(n, EXPORT_QUEUE_MAX / 2);
	assert_true(add("other", "b", 0));
	assert_false(add("flood", "a", 0));
	for (int i = 0; i < 2 * EXPORT_QUEUE_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		(void)add(name, "a", 0);
	}
	assert_int_equal(queue.share.n, EXPORT_QUEUE_MAX);
	export_queue_drop(&queue, EXPORT_QUEUE_MAX);
	assert_true(add("flood", "a", 0));
}

static void a_record_for_which_there_is_no_memory_is_refused(void **state)
{
	(void)state;
	assert_false(export_queue_add(&queue, "ml", "a", NULL, 0));
	assert_int_equal(queue.share.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			records_are_held_until_they_are_ready_and_leave_in_their_order, release),
		cmocka_unit_test_teardown(a_request_has_no_more_records_than_its_bound, release),
		cmocka_unit_test_teardown(one_namespace_leaves_room_for_others, release),
		cmocka_unit_test_teardown(a_record_for_which_there_is_no_memory_is_refused,
					  release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
