/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that what is known about namespaces and clusters is forgotten with them. */
#include "operator/cluster_controller/known_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct known_state));
	return 0;
}

static int teardown(void **state)
{
	known_state_release(*state);
	free(*state);
	return 0;
}

static void what_is_known_of_a_namespace_goes_with_its_last_cluster(void **state)
{
	struct known_state *known = *state;
	char name[32], key[64];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "ns-%d", i);
		snprintf(key, sizeof(key), "%s/demo", name);
		assert_non_null(known_state_use(known, name));
		assert_non_null(
			known_state_of_claim(known_state_of_namespace(known, name), "store"));
		assert_non_null(known_state_of_cluster(known, key));
		known_state_unuse(known, name);
	}
	assert_int_equal(known->namespaces.n, 1000);
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "ns-%d/demo", i);
		known_state_forget_cluster(known, key);
	}
	assert_int_equal(known->namespaces.n, 0);
	assert_int_equal(known->clusters.n, 0);
}

static void a_namespace_with_another_cluster_stays_known(void **state)
{
	struct known_state *known = *state;

	known_state_of_cluster(known, "ml/one");
	known_state_of_cluster(known, "ml/one");
	known_state_of_cluster(known, "ml/two");
	snprintf(known_state_of_namespace(known, "ml")->kernel_log_refused, 4, "no!");
	known_state_forget_cluster(known, "ml/one");
	known_state_forget_cluster(known, "ml/one");
	assert_string_equal(known_state_of_namespace(known, "ml")->kernel_log_refused, "no!");
	known_state_forget_cluster(known, "ml/two");
	assert_string_equal(known_state_of_namespace(known, "ml")->kernel_log_refused, "");
}

static void what_somebody_looks_at_stays_until_he_is_done(void **state)
{
	struct known_state *known = *state;
	struct known_namespace *namespace = known_state_use(known, "ml");

	known_state_use(known, "ml");
	known_state_of_cluster(known, "ml/demo");
	known_state_forget_cluster(known, "ml/demo");
	known_state_unuse(known, "ml");
	assert_ptr_equal(known_state_of_namespace(known, "ml"), namespace);
	known_state_unuse(known, "ml");
	assert_int_equal(known->namespaces.n, 0);
	known_state_unuse(known, "ml");
}

static void a_cluster_that_waits_for_launchers_is_not_forgotten(void **state)
{
	struct known_state *known = *state;
	struct known_namespace *namespace = known_state_use(known, "ml");

	assert_int_equal(strmap_put(&namespace->launcher_waiters, "ml/demo", known, NULL), 0);
	known_state_unuse(known, "ml");
	assert_int_equal(known->namespaces.n, 1);
	strmap_release(&namespace->launcher_waiters, NULL);
	known_state_use(known, "ml");
	known_state_unuse(known, "ml");
	assert_int_equal(known->namespaces.n, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_known_of_a_namespace_goes_with_its_last_cluster),
		TEST(a_namespace_with_another_cluster_stays_known),
		TEST(what_somebody_looks_at_stays_until_he_is_done),
		TEST(a_cluster_that_waits_for_launchers_is_not_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
