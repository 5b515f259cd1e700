/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of finding a container's cgroup in the whole hierarchy of a machine, on a tree of plain
 * directories.
 */
#include "sidecar/sample/memcg_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "sidecar/sample/endless_directory.h"
#include "sidecar/sample/memcg_testing.h"

#define ID "cri-containerd-46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63.scope"
#define RAY "/ray-node_3cb1263b95d0db9f539ce8c30d842630dec56b7b26623af056ab6244"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod94eb36cd.slice"
/* The line in a privileged pod's mountinfo, seen by a sidecar in a cgroup namespace of its own. */
#define MOUNT "30 1 0:26 /../../../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

static void make(const struct fake_root *t, const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "sys/fs/cgroup%s", path);
	fake_root_mkdir(t, full);
}

static int tree_setup(void **state)
{
	static struct fake_root t;

	fake_root_init(&t);
	make(&t, "/system.slice/containerd.service");
	make(&t,
	     "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-1.scope");
	make(&t, POD "/" ID RAY "/user/non-ray");
	*state = &t;
	return 0;
}

static int tree_teardown(void **state)
{
	return fake_root_release(*state);
}

static void the_containers_cgroup_is_found_by_its_name(void **state)
{
	static const struct {
		const char *cgroup, *path; /* NULL: not found */
	} rows[] = {
		{ "/../" ID, "/sys/fs/cgroup" POD "/" ID },
		{ "/../../" ID, "/sys/fs/cgroup" POD "/" ID },
		/* Ray moved the process to a cgroup below */
		{ "/../" ID RAY "/user/non-ray", "/sys/fs/cgroup" POD "/" ID },
		{ "/../cri-containerd-77b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63.scope", NULL },
		{ "/../cri-containerd-1.scope", NULL }, /* too short to be unique */
		{ "/..", NULL },
		{ "/", NULL },
	};
	struct fake_root *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char cgroup[256];
		struct memcg_place place;

		snprintf(cgroup, sizeof(cgroup), "0::%s\n", rows[i].cgroup);
		assert_int_equal(memcg_find_place(cgroup, MOUNT, &place, NULL), 0);
		if (rows[i].path && place.own)
			fail_msg("%s: its own is seen", rows[i].cgroup);
		assert_int_equal(!place.own && memcg_search(t->fd, &place), rows[i].path != NULL);
		memcg_place_to_container(&place);
		assert_string_equal(place.path, rows[i].path ? rows[i].path : "/sys/fs/cgroup");
	}
}

static void a_name_like_rays_around_the_container_is_not_below_it(void **state)
{
	struct fake_root *t = *state;
	struct memcg_place place;

	make(t, "/ray-node_of_somebody/with/a/long/name/that/goes/on/and/on/and/on/and/on");
	make(t,
	     "/ray-node_of_somebody_else/of/a/long/name/docker-46b3e0a4df44b752b841aecca454e6e7");
	assert_int_equal(memcg_find_place("0::/../docker-46b3e0a4df44b752b841aecca454e6e7\n", MOUNT,
					  &place, NULL),
			 0);
	assert_true(memcg_search(t->fd, &place));
	memcg_place_to_container(&place);
	assert_string_equal(
		place.path,
		"/sys/fs/cgroup/ray-node_of_somebody_else/of/a/long/name/docker-46b3e0a4df44b752b841aecca454e6e7");
	assert_string_equal(place.cgroup, "/../docker-46b3e0a4df44b752b841aecca454e6e7");
}

static void a_hierarchy_without_end_is_given_up(void **state)
{
	struct fake_root *t = *state;
	struct memcg_place place;
	char deep[400] = "/deep";

	for (int i = 0; i < 3 * MEMCG_SEARCH_DEPTH_MAX; i++)
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/deep");
	snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%.64s-other.scope", ID);
	make(t, deep);
	assert_int_equal(
		memcg_find_place(
			"0::/../cri-containerd-46b3e0a4df44b752b841aecca454e6e78995d567912a84950-other.scope\n",
			MOUNT, &place, NULL),
		0);
	assert_false(memcg_search(t->fd, &place));
	assert_false(place.own);
	assert_string_equal(place.path, "/sys/fs/cgroup");
}

static void directories_full_of_files_are_given_up(void **state)
{
	struct fake_root *t = *state;
	struct memcg_place place;
	unsigned int listed;

	assert_int_equal(memcg_find_place("0::/../" ID "\n", MOUNT, &place, NULL), 0);
	endless = 1;
	assert_false(memcg_search(t->fd, &place));
	listed = endless;
	endless = 0;
	assert_in_range(listed, 1, MEMCG_SEARCH_ENTRIES_MAX + 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_containers_cgroup_is_found_by_its_name),
		TEST(a_name_like_rays_around_the_container_is_not_below_it),
		TEST(a_hierarchy_without_end_is_given_up),
		TEST(directories_full_of_files_are_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
