/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which pods may or may not exist, and until when. */
#include "operator/cluster_controller/expectations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct expectations));
	return 0;
}

static int teardown(void **state)
{
	expectations_release(*state);
	free(*state);
	return 0;
}

static size_t unanswered(struct expectations *e, int64_t now_ns)
{
	struct unanswered_create list[4];

	return expectations_unanswered(e, now_ns, list, 4);
}

static void a_creation_without_an_answer_is_asked_for_and_its_name_kept(void **state)
{
	struct expectations *e = *state;
	struct unanswered_create list[4];

	expectations_ask(e, "demo-small-worker-a", "small");
	assert_string_equal(expectations_next(e), "demo-small-worker-a");
	assert_int_equal(unanswered(e, NS_PER_SEC), 0); /* it is not yet known */
	expectations_absent(e, "demo-small-worker-a", NS_PER_SEC);
	assert_null(expectations_next(e));
	assert_int_equal(expectations_unanswered(e, 2 * NS_PER_SEC, list, 4), 1);
	assert_string_equal(list[0].name, "demo-small-worker-a");
	assert_string_equal(list[0].group, "small");
	/* The pod exists already, which another question shows. */
	expectations_ask(e, "demo-small-worker-a", "small");
	assert_string_equal(expectations_next(e), "demo-small-worker-a");
	expectations_settle(e, "demo-small-worker-a");
	assert_null(expectations_next(e));
	assert_int_equal(unanswered(e, 2 * NS_PER_SEC), 0);
}

static void a_name_is_kept_for_as_long_as_the_last_request_for_it_may_last(void **state)
{
	struct expectations *e = *state;

	expectations_ask(e, "a", "small");
	expectations_absent(e, "a", NS_PER_SEC);
	for (int64_t s = 10; s < 60; s += 10) {
		expectations_ask(e, "a", "small");
		expectations_absent(e, "a", s * NS_PER_SEC);
		assert_int_equal(unanswered(e, s * NS_PER_SEC), 1);
	}
	assert_int_equal(unanswered(e, 114 * NS_PER_SEC), 1);
	assert_int_equal(unanswered(e, 116 * NS_PER_SEC), 0);
	assert_int_equal(e->pods.n, 0);
}

static void a_pod_that_was_there_and_is_gone_leaves_no_name(void **state)
{
	struct expectations *e = *state;

	expectations_ask(e, "a", NULL);
	assert_string_equal(expectations_next(e), "a");
	expectations_absent(e, "a", NS_PER_SEC);
	assert_int_equal(e->pods.n, 0);
}

static void they_are_bounded(void **state)
{
	struct expectations *e = *state;
	struct unanswered_create list[4];
	char name[32];

	for (int i = 0; i < 2 * EXPECTATIONS_MAX; i++) {
		snprintf(name, sizeof(name), "pod-%d", i);
		expectations_ask(e, name, "small");
		expectations_absent(e, name, NS_PER_SEC);
	}
	assert_int_equal(e->pods.n, EXPECTATIONS_MAX);
	assert_int_equal(expectations_unanswered(e, NS_PER_SEC, list, 4), 4);
	assert_int_equal(unanswered(e, 1000 * NS_PER_SEC), 0);
	assert_int_equal(e->pods.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_creation_without_an_answer_is_asked_for_and_its_name_kept),
		TEST(a_name_is_kept_for_as_long_as_the_last_request_for_it_may_last),
		TEST(a_pod_that_was_there_and_is_gone_leaves_no_name),
		TEST(they_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
