/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the work queue under a fake clock. */
#include "operator/kube/workqueue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

static void keys_come_in_order_and_once(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	workqueue_add(&q, "b");
	workqueue_add(&q, "a");
	assert_int_equal(workqueue_next_ns(&q), 0);
	const char *a = workqueue_get(&q, 1);
	assert_string_equal(a, "a");
	assert_string_equal(workqueue_get(&q, 1), "b");
	assert_null(workqueue_get(&q, 1));
	workqueue_done(&q, "a");
	workqueue_done(&q, "b");
	assert_int_equal(q.items.n, 0);
	assert_int_equal(workqueue_next_ns(&q), -1);
	workqueue_release(&q);
}

static void many_keys_of_a_namespace_leave_each_other_namespace_its_turn(void **state)
{
	static const char *const added[] = { "a/1", "a/2", "a/3", "a/4", "ab/1", "ab/2", "c/1" };
	static const char *const expected[] = { "a/1",	"ab/1", "c/1", "a/2",
						"ab/2", "d/1",	"a/3", "a/4" };
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	for (size_t i = 0; i < ARRAY_SIZE(added); i++)
		workqueue_add(&q, added[i]);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (i == 3)
			workqueue_add(&q, "d/1");
		assert_string_equal(workqueue_get(&q, 1), expected[i]);
	}
	workqueue_release(&q);
}

/* Without looking at all keys for each one, which would take minutes here. */
static void a_hundred_thousand_namespaces_take_turns(void **state)
{
	const int n = 100000;
	struct workqueue q;
	char key[32];
	(void)state;

	workqueue_init(&q);
	for (int i = 0; i < 2 * n; i++) {
		snprintf(key, sizeof(key), "n%d/%d", i % n, i / n);
		assert_int_equal(workqueue_add(&q, key), 0);
	}
	for (int i = 0; i < 2 * n; i++) {
		snprintf(key, sizeof(key), "n%d/%d", i % n, i / n);
		assert_string_equal(workqueue_get(&q, 1), key);
		workqueue_done(&q, key);
	}
	assert_int_equal(q.items.n + q.namespaces.n, 0);
	workqueue_release(&q);
}

static void a_namespace_that_always_has_a_new_key_does_not_keep_others_from_their_turn(void **state)
{
	struct workqueue q;
	int turns = 0;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "busy/1");
	workqueue_add(&q, "calm/1");
	workqueue_add(&q, "calm/2");
	for (const char *key; (key = workqueue_get(&q, 1)) && strcmp(key, "calm/2") != 0; turns++) {
		workqueue_add(&q, turns % 2 ? "busy/1" : "busy/2");
		workqueue_done(&q, key);
	}
	assert_in_range(turns, 2, 4);
	workqueue_release(&q);
}

static void a_namespace_has_only_so_many_keys_worked_on_at_a_time(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	q.most = 2;
	for (char key[] = "a/1"; key[2] <= '4'; key[2]++)
		workqueue_add(&q, key);
	workqueue_add_at(&q, "b/1", 5);
	assert_string_equal(workqueue_get(&q, 1), "a/1");
	assert_string_equal(workqueue_get(&q, 1), "a/2");
	assert_null(workqueue_get(&q, 1));
	assert_int_equal(workqueue_next_ns(&q), 5); /* another namespace's key is waited for */
	assert_string_equal(workqueue_get(&q, 5), "b/1");
	workqueue_add(&q, "a/1");
	workqueue_done(&q, "a/1");
	assert_int_equal(workqueue_next_ns(&q), 0);
	assert_string_equal(workqueue_get(&q, 5), "a/3");
	assert_null(workqueue_get(&q, 5));
	assert_true(workqueue_remove(&q, "a/4"));
	workqueue_done(&q, "a/2");
	workqueue_done(&q, "a/3");
	assert_string_equal(workqueue_get(&q, 5), "a/1");
	assert_null(workqueue_get(&q, 5));
	workqueue_release(&q);
}

static void a_key_added_while_worked_on_comes_after_done_and_not_before(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	const char *a = workqueue_get(&q, 1);
	workqueue_add(&q, "a");
	workqueue_add(&q, "a");
	assert_null(workqueue_get(&q, 1));
	workqueue_forget(&q, a);
	workqueue_done(&q, a);
	assert_string_equal(workqueue_get(&q, 1), "a");
	assert_null(workqueue_get(&q, 1));
	workqueue_done(&q, "a");
	assert_null(workqueue_get(&q, 1));
	workqueue_release(&q);
}

static void failures_double_from_5_ms_to_1000_s_and_success_forgets_them(void **state)
{
	struct workqueue q;
	int64_t now = 0, expected = 5 * NS_PER_MS;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	for (int i = 0; i < 25; i++) {
		const char *key = workqueue_get(&q, now);
		assert_non_null(key);
		assert_int_equal(workqueue_retry(&q, key, now, 0), expected);
		workqueue_done(&q, key);
		assert_null(workqueue_get(&q, now + expected - 1));
		assert_int_equal(workqueue_next_ns(&q), now + expected);
		now += expected;
		expected = expected * 2 > 1000 * NS_PER_SEC ? 1000 * NS_PER_SEC : expected * 2;
	}
	const char *key = workqueue_get(&q, now);
	workqueue_forget(&q, key);
	workqueue_done(&q, key);
	assert_int_equal(q.items.n, 0);
	workqueue_add(&q, "a");
	key = workqueue_get(&q, now);
	assert_int_equal(workqueue_retry(&q, key, now, 0), 5 * NS_PER_MS);
	workqueue_done(&q, key);
	workqueue_release(&q);
}

static void retry_after_is_the_least_delay(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	const char *key = workqueue_get(&q, 0);
	assert_int_equal(workqueue_retry(&q, key, 0, 7 * NS_PER_SEC), 7 * NS_PER_SEC);
	workqueue_done(&q, key);
	assert_null(workqueue_get(&q, 7 * NS_PER_SEC - 1));
	assert_string_equal(workqueue_get(&q, 7 * NS_PER_SEC), "a");
	workqueue_release(&q);
}

static void events_during_failing_work_do_not_defeat_its_delay(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	const char *key = workqueue_get(&q, 0);
	workqueue_add(&q, "a");
	workqueue_retry(&q, key, 0, 0);
	workqueue_done(&q, key);
	assert_null(workqueue_get(&q, 0));
	assert_string_equal(workqueue_get(&q, 5 * NS_PER_MS), "a");
	workqueue_release(&q);
}

static void a_new_event_ends_the_wait_of_a_delayed_key(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add_at(&q, "a", 100);
	workqueue_add_at(&q, "b", 50);
	workqueue_add_at(&q, "a", 70);
	assert_int_equal(workqueue_next_ns(&q), 50);
	assert_null(workqueue_get(&q, 49));
	workqueue_add(&q, "a");
	assert_string_equal(workqueue_get(&q, 0), "a");
	assert_string_equal(workqueue_get(&q, 50), "b");
	workqueue_done(&q, "a");
	workqueue_done(&q, "b");
	assert_null(workqueue_get(&q, 1000));
	workqueue_release(&q);
}

static void a_delay_set_while_worked_on_starts_after_done(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	workqueue_add(&q, "a");
	const char *key = workqueue_get(&q, 0);
	workqueue_add_at(&q, key, 10);
	assert_null(workqueue_get(&q, 20));
	assert_int_equal(workqueue_next_ns(&q), -1);
	workqueue_forget(&q, key);
	workqueue_done(&q, key);
	assert_string_equal(workqueue_get(&q, 20), "a");
	workqueue_release(&q);
}

static void work_on_one_key_is_paced_and_work_on_others_is_not(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	q.pace_ns = 100;
	workqueue_add(&q, "a");
	assert_string_equal(workqueue_get(&q, 1000), "a");
	workqueue_add(&q, "a");
	workqueue_add_at(&q, "a", 5000);
	workqueue_forget(&q, "a");
	workqueue_done(&q, "a");
	workqueue_add(&q, "a");
	workqueue_add(&q, "b");
	assert_string_equal(workqueue_get(&q, 1001), "b");
	assert_null(workqueue_get(&q, 1099));
	assert_int_equal(workqueue_next_ns(&q), 1100);
	assert_string_equal(workqueue_get(&q, 1100), "a");
	workqueue_release(&q);
}

static void a_removed_key_does_not_come_again_and_the_others_keep_their_order(void **state)
{
	struct workqueue q;
	(void)state;

	workqueue_init(&q);
	for (size_t removed = 0; removed < 3; removed++) {
		static const char *const keys[] = { "a", "b", "c" };
		for (size_t i = 0; i < 3; i++)
			workqueue_add(&q, keys[i]);
		assert_true(workqueue_remove(&q, keys[removed]));
		for (size_t i = 0; i < 3; i++)
			if (i != removed)
				assert_string_equal(workqueue_get(&q, 0), keys[i]);
		assert_null(workqueue_get(&q, 0));
		for (size_t i = 0; i < 3; i++)
			workqueue_done(&q, keys[i]);
	}
	workqueue_add_at(&q, "later", 5);
	assert_true(workqueue_remove(&q, "later"));
	assert_true(workqueue_remove(&q, "never there"));
	assert_int_equal(workqueue_next_ns(&q), -1);
	workqueue_add(&q, "busy");
	assert_string_equal(workqueue_get(&q, 0), "busy");
	assert_false(workqueue_remove(&q, "busy"));
	workqueue_done(&q, "busy");
	assert_int_equal(q.n_ready + q.n_delayed + q.n_working + q.items.n, 0);
	workqueue_release(&q);
}

static void after_a_rest_some_starts_come_at_once(void **state)
{
	struct workqueue q;
	int64_t now = 1000;
	(void)state;

	workqueue_init(&q);
	q.pace_ns = 100;
	q.burst = 2;
	workqueue_add(&q, "a");
	for (int i = 0; i < 3; i++) {
		assert_string_equal(workqueue_get(&q, now), "a");
		workqueue_add(&q, "a");
		workqueue_done(&q, "a");
	}
	assert_null(workqueue_get(&q, now));
	assert_int_equal(workqueue_next_ns(&q), now + 100);
	now += 100;
	assert_string_equal(workqueue_get(&q, now), "a");
	workqueue_add(&q, "a");
	workqueue_done(&q, "a");
	assert_null(workqueue_get(&q, now));
	now += 1000; /* after a rest */
	for (int i = 0; i < 3; i++) {
		assert_string_equal(workqueue_get(&q, now), "a");
		workqueue_add(&q, "a");
		workqueue_done(&q, "a");
	}
	assert_null(workqueue_get(&q, now));
	workqueue_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_in_order_and_once),
		cmocka_unit_test(many_keys_of_a_namespace_leave_each_other_namespace_its_turn),
		cmocka_unit_test(a_hundred_thousand_namespaces_take_turns),
		cmocka_unit_test(
			a_namespace_that_always_has_a_new_key_does_not_keep_others_from_their_turn),
		cmocka_unit_test(a_namespace_has_only_so_many_keys_worked_on_at_a_time),
		cmocka_unit_test(a_key_added_while_worked_on_comes_after_done_and_not_before),
		cmocka_unit_test(failures_double_from_5_ms_to_1000_s_and_success_forgets_them),
		cmocka_unit_test(retry_after_is_the_least_delay),
		cmocka_unit_test(events_during_failing_work_do_not_defeat_its_delay),
		cmocka_unit_test(a_new_event_ends_the_wait_of_a_delayed_key),
		cmocka_unit_test(work_on_one_key_is_paced_and_work_on_others_is_not),
		cmocka_unit_test(after_a_rest_some_starts_come_at_once),
		cmocka_unit_test(a_removed_key_does_not_come_again_and_the_others_keep_their_order),
		cmocka_unit_test(a_delay_set_while_worked_on_starts_after_done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
