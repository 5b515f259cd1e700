/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding processes that were moved to another cgroup, on a tree of plain files. */
#include "sidecar/sample/memcg_follow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "sidecar/sample/memcg_testing.h"

static const struct memcg_place home = { .version = 2, .path = "/cg/job/c", .cgroup = "/job/c" };

static enum memcg_move look(const struct fake_root *root, struct memcg_follow *f,
			    const char *cgroup, bool below_too)
{
	fake_root_put(root, "proc/7/cgroup", cgroup);
	return memcg_follow_look(f, root->fd, 7, &home, below_too);
}

static void a_new_cgroup_is_found_once(void **state)
{
	struct memcg_follow f = { 0 };

	assert_int_equal(look(*state, &f, "0::/job/c\n", false), MEMCG_MOVE_NONE);
	assert_int_equal(look(*state, &f, "0::/job/other\n", false), MEMCG_MOVE_NEW);
	assert_int_equal(look(*state, &f, "0::/job/other\n", false), MEMCG_MOVE_NONE);
	/* The name only begins like the container's */
	assert_int_equal(look(*state, &f, "0::/job/cc\n", true), MEMCG_MOVE_NEW);
}

static void cgroups_below_are_new_unless_they_count_as_the_containers(void **state)
{
	struct memcg_follow f = { 0 };

	assert_int_equal(look(*state, &f, "0::/job/c/below\n", true), MEMCG_MOVE_NONE);
	assert_int_equal(look(*state, &f, "0::/job/c/below\n", false), MEMCG_MOVE_NEW);
}

static void beyond_those_that_are_remembered_a_cgroup_is_new_each_time(void **state)
{
	struct memcg_follow f = { 0 };
	char cgroup[64];

	for (int i = 0; i < MEMCG_PLACES_MAX; i++) {
		snprintf(cgroup, sizeof(cgroup), "0::/job/other%d\n", i);
		assert_int_equal(look(*state, &f, cgroup, false), MEMCG_MOVE_NEW);
	}
	assert_int_equal(look(*state, &f, "0::/job/more\n", false), MEMCG_MOVE_NEW);
	assert_int_equal(look(*state, &f, "0::/job/more\n", false), MEMCG_MOVE_NEW);
	assert_int_equal(look(*state, &f, "0::/job/other0\n", false), MEMCG_MOVE_NONE);
}

static void a_process_that_is_gone_or_in_another_hierarchy_is_not_known(void **state)
{
	const struct fake_root *root = *state;
	struct memcg_follow f = { 0 };

	assert_int_equal(memcg_follow_look(&f, root->fd, 7, &home, true), MEMCG_MOVE_UNKNOWN);
	assert_int_equal(look(root, &f, "4:memory:/job/other\n", true), MEMCG_MOVE_UNKNOWN);
}

static int setup(void **state)
{
	static struct fake_root root;

	fake_root_init(&root);
	*state = &root;
	return 0;
}

static int teardown(void **state)
{
	return fake_root_release(*state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_new_cgroup_is_found_once),
		TEST(cgroups_below_are_new_unless_they_count_as_the_containers),
		TEST(beyond_those_that_are_remembered_a_cgroup_is_new_each_time),
		TEST(a_process_that_is_gone_or_in_another_hierarchy_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
