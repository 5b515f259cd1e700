/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the annotation that names a pod's policies. */
#include "plugin/policy_origin.h"

#include "lib/macros.h"
#include "plugin/testing.h"

static void each_block_has_the_object_that_gives_it(void **state)
{
	struct policy_origins o;
	(void)state;

	policy_origins_parse("RayPolicy/team-a generation 3 (recording, store); ClusterRayPolicy/production generation 17 (memory, locked)", &o);
	assert_true(o.is_whole);
	assert_int_equal(o.n, 2);
	assert_string_equal(policy_origin_of(&o, ORIGIN_RECORDING)->name, "team-a");
	assert_ptr_equal(policy_origin_of(&o, ORIGIN_STORE), &o.of[0]);
	assert_false(o.of[0].locks);
	assert_int_equal(o.of[0].generation, 3);
	assert_string_equal(policy_origin_kind(policy_origin_of(&o, ORIGIN_MEMORY)), "ClusterRayPolicy");
	assert_true(o.of[1].locks);
	assert_int_equal(o.of[1].generation, 17);
}

static void an_object_may_lock_without_giving_anything(void **state)
{
	struct policy_origins o;
	(void)state;

	policy_origins_parse("ClusterRayPolicy/platform generation 7 (locked)", &o);
	assert_true(o.is_whole && o.n == 1 && o.of[0].locks);
	assert_null(policy_origin_of(&o, ORIGIN_MEMORY));
}

static void without_the_annotation_the_chart_decides(void **state)
{
	struct policy_origins o;
	(void)state;

	policy_origins_parse(NULL, &o);
	assert_true(o.is_whole);
	assert_int_equal(o.n, 0);
	assert_null(policy_origin_of(&o, ORIGIN_STORE));
}

static void what_is_no_such_annotation_is_not_taken_for_a_policy(void **state)
{
	static const char *const rows[] = {
		"x", "RayPolicy/", "RayPolicy/a", "RayPolicy/a generation 3", "RayPolicy/a generation x (store)", "RayPolicy/a generation 3 ()",
		"RayPolicy/a generation 3 (stores)", "RayPolicy/a generation 3 (store", "RayPolicy/A generation 3 (store)", "RayPolicy/a generation -1 (store)",
		"OtherPolicy/a generation 3 (store)", "RayPolicy/a\033[2J generation 3 (store)", "RayPolicy/a generation 3 (store),",
	};
	char many[1024] = "", long_name[400] = "RayPolicy/";
	struct policy_origins o;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		policy_origins_parse(rows[i], &o);
		assert_false(o.is_whole);
		assert_int_equal(o.n, 0);
	}
	memset(long_name + 10, 'a', 300);
	policy_origins_parse(long_name, &o);
	assert_false(o.is_whole);
	for (size_t i = 0; i <= POLICY_ORIGINS_MAX; i++)
		memcpy(many + strlen(many), "RayPolicy/a generation 3 (store); ", sizeof("RayPolicy/a generation 3 (store); "));
	policy_origins_parse(many, &o);
	assert_false(o.is_whole);
	assert_int_equal(o.n, POLICY_ORIGINS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_block_has_the_object_that_gives_it),
		cmocka_unit_test(an_object_may_lock_without_giving_anything),
		cmocka_unit_test(without_the_annotation_the_chart_decides),
		cmocka_unit_test(what_is_no_such_annotation_is_not_taken_for_a_policy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
