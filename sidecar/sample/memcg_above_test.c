/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of limits that are set above the cgroup of a container, on trees of plain directories. */
#include "sidecar/sample/memcg_above.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/sample/memcg_testing.h"

struct tree {
	struct fake_root root;
	struct memcg memcg;
	struct memcg_above above;
	struct memory memory;
};

static void put(const struct tree *t, const char *path, const char *text)
{
	fake_root_put(&t->root, path, text);
}

static void put_v2(const struct tree *t, const char *cgroup, const char *usage, const char *limit,
		   int kills)
{
	char path[512], text[64];

	snprintf(path, sizeof(path), "%s/memory.current", cgroup);
	put(t, path, usage);
	snprintf(path, sizeof(path), "%s/memory.max", cgroup);
	put(t, path, limit);
	snprintf(path, sizeof(path), "%s/memory.events", cgroup);
	snprintf(text, sizeof(text), "high %d\nmax %d\noom_kill %d\noom_group_kill 0\n", kills + 20,
		 kills + 10, kills);
	put(t, path, text);
}

static void begin(struct tree *t, const char *cgroup, const char *mountinfo)
{
	struct memcg_place place;

	put(t, "proc/7/cgroup", cgroup);
	put(t, "proc/7/mountinfo", mountinfo);
	assert_int_equal(memcg_place_of(t->root.fd, 7, &place, NULL), 0);
	assert_int_equal(memcg_open_at(&t->memcg, t->root.fd, &place, NULL), 0);
	memcg_above_init(&t->above, t->root.fd, &place);
}

static void read_at(struct tree *t, int64_t now_ns)
{
	assert_int_equal(memcg_read(&t->memcg, &t->memory, NULL), 0);
	memcg_above_apply(&t->above, now_ns, &t->memory);
}

#define V2_HOST "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
#define TASK "cg/slurm/job_1/step_0/user/task_0"

static void slurms_limit_of_the_job_is_the_limit_of_its_task(void **state)
{
	struct tree *t = *state;

	put(t, "cg/memory.stat", "anon 1\n"); /* the root has no limit file */
	put_v2(t, "cg/slurm", "9000\n", "max\n", 9);
	put_v2(t, "cg/slurm/job_1", "900\n", "1000\n", 8);
	put_v2(t, "cg/slurm/job_1/step_0", "800\n", "2000\n", 7);
	put_v2(t, TASK, "700\n", "max\n", 3);
	put(t, TASK "/memory.high", "720\n");
	begin(t, "0::/slurm/job_1/step_0/user/task_0\n", V2_HOST);
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.limit, 1000);
	assert_int_equal(t->memory.usage, 900);
	assert_int_equal(t->memory.limit_hits, 18);
	assert_int_equal(t->memory.oom_kill, 3); /* the container's own count */
	assert_int_equal(t->memory.high_hits, 23);
	assert_int_equal(t->memory.high, -1); /* it would be held against another cgroup's usage */
	assert_string_equal(memcg_above_name(&t->above), "/slurm/job_1");
	/* The limit is raised. A second later the new one is used. */
	put_v2(t, "cg/slurm/job_1", "900\n", "5000\n", 8);
	read_at(t, 3 * NS_PER_SEC);
	assert_int_equal(t->memory.limit, 2000);
	assert_string_equal(memcg_above_name(&t->above), "/slurm/job_1/step_0");
	/* Finally the container's own limit is the lowest. */
	put_v2(t, TASK, "700\n", "750\n", 3);
	read_at(t, 5 * NS_PER_SEC);
	assert_int_equal(t->memory.limit, 750);
	assert_int_equal(t->memory.high, 720);
	assert_int_equal(t->memory.usage, 700);
	assert_null(memcg_above_name(&t->above));
}

static void its_own_limit_wins_over_an_equal_one_above(void **state)
{
	struct tree *t = *state;

	put_v2(t, "cg/pod", "900\n", "1000\n", 0);
	put_v2(t, "cg/pod/c", "800\n", "1000\n", 0);
	begin(t, "0::/pod/c\n", V2_HOST);
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.usage, 800);
	assert_null(memcg_above_name(&t->above));
}

static void without_any_limit_there_is_none(void **state)
{
	struct tree *t = *state;

	put_v2(t, "cg/pod", "900\n", "max\n", 0);
	put_v2(t, "cg/pod/c", "800\n", "max\n", 0);
	begin(t, "0::/pod/c\n", V2_HOST);
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.limit, -1);
	assert_int_equal(t->memory.usage, 800);
	assert_null(memcg_above_name(&t->above));
}

static void above_the_mount_nothing_is_looked_for(void **state)
{
	struct tree *t = *state;

	put_v2(t, "cg/pod", "900\n", "10\n", 0);
	put_v2(t, "cg/pod/c", "800\n", "max\n", 0);
	begin(t, "0::/../c\n", "30 1 0:26 /../c /cg/pod/c ro - cgroup2 cgroup2 rw\n");
	assert_int_equal(t->above.n, 0);
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.limit, -1);
}

static void v1_names_the_cgroup_whose_limit_memory_stat_tells(void **state)
{
	struct tree *t = *state;

	put(t, "cg/job/memory.usage_in_bytes", "900\n");
	put(t, "cg/job/memory.limit_in_bytes", "1000\n");
	put(t, "cg/job/memory.max_usage_in_bytes", "1000\n");
	put(t, "cg/job/c/memory.usage_in_bytes", "300\n");
	put(t, "cg/job/c/memory.limit_in_bytes", "9223372036854771712\n");
	put(t, "cg/job/c/memory.stat", "hierarchical_memory_limit 1000\n");
	put(t, "cg/job/c/memory.oom_control", "oom_kill 2\n");
	begin(t, "4:memory:/job/c\n", "30 1 0:26 / /cg rw - cgroup cgroup rw,memory\n");
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.limit, 1000);
	assert_int_equal(t->memory.usage, 900);
	assert_int_equal(t->memory.peak, 1000);
	assert_int_equal(t->memory.oom_kill, 2);
	assert_string_equal(memcg_above_name(&t->above), "/job");
}

static void a_deep_path_is_looked_at_as_far_as_there_is_room(void **state)
{
	struct tree *t = *state;
	char cgroup[256] = "0::", path[256] = "cg";

	for (int i = 0; i < 2 * MEMCG_ABOVE_MAX; i++) {
		snprintf(cgroup + strlen(cgroup), sizeof(cgroup) - strlen(cgroup), "/d");
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
	}
	snprintf(cgroup + strlen(cgroup), sizeof(cgroup) - strlen(cgroup), "\n");
	put_v2(t, path, "5\n", "max\n", 0);
	begin(t, cgroup, V2_HOST);
	assert_int_equal(t->above.n, MEMCG_ABOVE_MAX);
	read_at(t, NS_PER_SEC);
	assert_int_equal(t->memory.limit, -1);
}

static int tree_setup(void **state)
{
	static struct tree t;

	t = (struct tree){ .root.fd = -1 };
	fake_root_init(&t.root);
	*state = &t;
	return 0;
}

static int tree_teardown(void **state)
{
	struct tree *t = *state;

	memcg_close(&t->memcg);
	memcg_above_close(&t->above);
	memcg_above_close(&t->above); /* closing it twice does no harm */
	return fake_root_release(&t->root);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(slurms_limit_of_the_job_is_the_limit_of_its_task),
		TEST(its_own_limit_wins_over_an_equal_one_above),
		TEST(without_any_limit_there_is_none),
		TEST(above_the_mount_nothing_is_looked_for),
		TEST(v1_names_the_cgroup_whose_limit_memory_stat_tells),
		TEST(a_deep_path_is_looked_at_as_far_as_there_is_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
