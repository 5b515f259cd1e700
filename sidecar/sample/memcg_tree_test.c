/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the cgroups below a container's and of those to which its processes were moved, on trees
 * of plain directories.
 */
#include "sidecar/sample/memcg_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/sample/endless_directory.h"
#include "sidecar/sample/memcg_testing.h"

#define T0 (100 * NS_PER_SEC)

struct tree {
	struct fake_root root;
	struct memcg_tree t;
};

static void put(const struct tree *t, const char *path, const char *text)
{
	fake_root_put(&t->root, path, text);
}

static void put_v1(const struct tree *t, const char *cgroup, int kills, const char *usage,
		   const char *limit, const char *peak)
{
	char path[512], text[96];

	snprintf(path, sizeof(path), "%s/memory.oom_control", cgroup);
	snprintf(text, sizeof(text), "oom_kill_disable 0\nunder_oom 0\noom_kill %d\n", kills);
	put(t, path, text);
	snprintf(path, sizeof(path), "%s/memory.usage_in_bytes", cgroup);
	put(t, path, usage);
	snprintf(path, sizeof(path), "%s/memory.limit_in_bytes", cgroup);
	put(t, path, limit);
	snprintf(path, sizeof(path), "%s/memory.max_usage_in_bytes", cgroup);
	put(t, path, peak);
}

static void put_v2(const struct tree *t, const char *cgroup, int ooms, int kills, const char *usage,
		   const char *limit)
{
	char path[512], text[96];

	snprintf(path, sizeof(path), "%s/memory.events", cgroup);
	snprintf(text, sizeof(text),
		 "low 0\nhigh 0\nmax 9\noom %d\noom_kill %d\noom_group_kill 0\n", ooms, kills);
	put(t, path, text);
	snprintf(path, sizeof(path), "%s/memory.current", cgroup);
	put(t, path, usage);
	snprintf(path, sizeof(path), "%s/memory.max", cgroup);
	put(t, path, limit);
}

/* The container of PID 7 is in /cg/job/c of a mount that shows /cg. */
static void begin(struct tree *t, int version)
{
	struct memcg_place place;

	put(t, "proc/7/cgroup", version == 1 ? "4:memory:/job/c\n" : "0::/job/c\n");
	put(t, "proc/7/mountinfo",
	    version == 1 ? "30 1 0:26 / /cg rw - cgroup cgroup rw,memory\n" :
			   "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	put(t, "cg/job/c/cgroup.procs", "7\n");
	assert_int_equal(memcg_place_of(t->root.fd, 7, &place, NULL), 0);
	assert_string_equal(place.path, "/cg/job/c");
	assert_int_equal(place.top, 3);
	memcg_tree_init(&t->t, t->root.fd, &place);
	t->t.walks = true;
}

static void look(struct tree *t, int64_t now_ns)
{
	memcg_tree_look(&t->t, now_ns, true);
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

	memcg_tree_close(&t->t);
	memcg_tree_close(&t->t); /* closing it twice does no harm */
	return fake_root_release(&t->root);
}

static void without_cgroups_below_there_is_nothing_to_say(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	look(t, T0);
	assert_int_equal(t->t.n_nodes, 0);
	assert_null(t->t.nodes);
	assert_int_equal(memcg_tree_kills(&t->t), 0);
	assert_null(memcg_tree_ran_out(&t->t));
	assert_null(memcg_tree_tightest(&t->t));
}

static void v1_kills_below_are_summed(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	put_v1(t, "cg/job/c/a", 1, "5\n", "9223372036854771712\n", "6\n");
	put_v1(t, "cg/job/c/a/deep", 2, "5\n", "9223372036854771712\n", "6\n");
	put_v1(t, "cg/job/c/b", 0, "5\n", "9223372036854771712\n", "6\n");
	put_v1(t, "cg/job/other", 50, "5\n", "9223372036854771712\n", "6\n");
	look(t, T0);
	assert_int_equal(t->t.n_nodes, 3);
	assert_int_equal(memcg_tree_kills(&t->t), 3);
	put_v1(t, "cg/job/c/b", 4, "5\n", "9223372036854771712\n", "6\n");
	look(t, T0 + NS_PER_MS);
	assert_int_equal(memcg_tree_kills(&t->t), 7);
	assert_null(memcg_tree_ran_out(&t->t)); /* none of them has a limit */
}

static void v2_kills_below_are_in_the_containers_own_count(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	put_v2(t, "cg/job/c/a", 1, 1, "5\n", "max\n");
	look(t, T0);
	assert_int_equal(t->t.n_nodes, 1);
	assert_int_equal(memcg_tree_kills(&t->t), 0);
}

static void with_local_events_v2_is_summed_as_well(void **state)
{
	struct tree *t = *state;
	struct memcg_place place;

	begin(t, 2);
	memcg_tree_close(&t->t);
	put(t, "proc/7/mountinfo",
	    "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw,nsdelegate,memory_localevents\n");
	assert_int_equal(memcg_place_of(t->root.fd, 7, &place, NULL), 0);
	assert_true(place.local_events);
	memcg_tree_init(&t->t, t->root.fd, &place);
	t->t.walks = true;
	put_v2(t, "cg/job/c/a", 1, 3, "5\n", "max\n");
	look(t, T0);
	assert_int_equal(memcg_tree_kills(&t->t), 3);
}

static void the_limit_that_ran_out_is_found_on_v2(void **state)
{
	struct tree *t = *state;
	const struct memcg_node *node;

	begin(t, 2);
	put_v2(t, "cg/job/c/ray-node_1", 0, 0, "900\n", "max\n");
	put_v2(t, "cg/job/c/ray-node_1/user", 0, 0, "800\n", "1000\n");
	put_v2(t, "cg/job/c/ray-node_1/user/workers", 0, 0, "800\n", "max\n");
	put_v2(t, "cg/job/c/ray-node_1/system", 5, 5, "100\n", "500\n"); /* this was long ago */
	look(t, T0);
	memcg_tree_forget(&t->t);
	assert_null(memcg_tree_ran_out(&t->t));
	/*
	 * The kernel counts "oom" in the cgroup with the limit and above, and "oom_kill" in the
	 * victim's cgroup and above.
	 */
	put_v2(t, "cg/job/c/ray-node_1", 6, 6, "900\n", "max\n");
	put_v2(t, "cg/job/c/ray-node_1/user", 1, 1, "990\n", "1000\n");
	put_v2(t, "cg/job/c/ray-node_1/user/workers", 0, 1, "980\n", "max\n");
	look(t, T0 + NS_PER_MS);
	node = memcg_tree_ran_out(&t->t);
	assert_non_null(node);
	assert_string_equal(memcg_tree_name(&t->t, node), "ray-node_1/user");
	assert_int_equal(node->limit, 1000);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_tightest(&t->t)), "ray-node_1/user");
	memcg_tree_forget(&t->t);
	assert_null(memcg_tree_ran_out(&t->t));
}

static void the_limit_that_ran_out_is_found_on_v1(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	/* Page cache met the limit, so there was no kill. */
	put_v1(t, "cg/job/c/a", 0, "10\n", "1000\n", "1000\n");
	put_v1(t, "cg/job/c/b", 0, "10\n", "2000\n", "2000\n");
	put_v1(t, "cg/job/c/b/in", 1, "10\n", "9223372036854771712\n", "2000\n");
	look(t, T0);
	assert_null(memcg_tree_ran_out(&t->t)); /* the kill was older than the sidecar */
	memcg_tree_count_from_start(&t->t);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)), "b");
	/* The limit of this cgroup was not met: the one above ran out of memory. */
	put_v1(t, "cg/job/c/b", 0, "10\n", "2000\n", "1999\n");
	look(t, T0 + NS_PER_MS);
	assert_null(memcg_tree_ran_out(&t->t));
}

/*
 * When a sample shows the kill, the victim's memory may be gone. Then the previous sample decides.
 */
static void that_a_limit_was_full_is_known_for_two_looks(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	put_v1(t, "cg/job/c/b", 0, "1990\n", "2000\n", "2000\n");
	look(t, T0);
	put_v1(t, "cg/job/c/b", 1, "10\n", "2000\n", "2000\n");
	look(t, T0 + NS_PER_MS);
	assert_true(memcg_tree_was_full(memcg_tree_ran_out(&t->t)));
	look(t, T0 + 2 * NS_PER_MS);
	assert_false(memcg_tree_was_full(memcg_tree_ran_out(&t->t)));
}

static void cgroups_made_later_are_noticed(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	look(t, T0);
	put_v1(t, "cg/job/c/new/deep", 1, "5\n", "900\n", "900\n");
	/* Soon after a walk there is no other one, except at the end. */
	memcg_tree_look(&t->t, T0 + NS_PER_MS, false);
	assert_int_equal(t->t.n_nodes, 0);
	memcg_tree_look(&t->t, T0 + NS_PER_SEC, false);
	assert_int_equal(t->t.n_nodes, 1);
	put_v1(t, "cg/job/c/new/deep/er", 2, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_SEC + NS_PER_MS);
	assert_int_equal(memcg_tree_kills(&t->t), 3);
	assert_int_equal(memcg_tree_kills_outside(&t->t), 0);
}

static void what_went_before_its_parent_was_watched_is_unseen(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	put_v1(t, "cg/job/c/old", 0, "5\n", "900\n", "900\n");
	look(t, T0);
	assert_null(memcg_tree_unseen(&t->t, T0)); /* the first look is before anything happened */
	put_v1(t, "cg/job/c/new/gone", 1, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_MS);
	assert_non_null(strstr(memcg_tree_unseen(&t->t, T0 + NS_PER_MS), "that was removed"));
}

static void counters_that_come_later_are_found(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	/* The cgroup exists, but its controller is not enabled yet. */
	put(t, "cg/job/c/user/cgroup.procs", "7\n");
	look(t, T0);
	assert_int_equal(t->t.n_nodes, 0);
	/* The kernel creates its files without a notification. */
	close(t->t.inotify_fd);
	t->t.inotify_fd = -1;
	put_v2(t, "cg/job/c/user", 1, 1, "990\n", "1000\n");
	memcg_tree_look(&t->t, T0 + NS_PER_SEC / 2, false);
	assert_int_equal(t->t.n_nodes, 0);
	memcg_tree_look(&t->t, T0 + NS_PER_SEC, false);
	assert_int_equal(t->t.n_nodes, 1);
	assert_false(t->t.incomplete);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)), "user");
}

static void without_inotify_the_number_of_links_tells(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	look(t, T0);
	close(t->t.inotify_fd);
	t->t.inotify_fd = -1;
	put_v1(t, "cg/job/c/new", 1, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_MS);
	assert_int_equal(memcg_tree_kills(&t->t), 1);
}

static void a_cgroup_that_came_and_went_is_reported_as_unseen(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	look(t, T0);
	assert_null(memcg_tree_unseen(&t->t, T0 + NS_PER_SEC));
	assert_int_equal(mkdirat(t->root.fd, "cg/job/c/brief", 0755), 0);
	assert_int_equal(unlinkat(t->root.fd, "cg/job/c/brief", AT_REMOVEDIR), 0);
	look(t, T0 + NS_PER_SEC);
	assert_non_null(strstr(memcg_tree_unseen(&t->t, T0 + NS_PER_SEC),
			       "a memory cgroup below that was removed"));
	/* This is too long ago to explain an end. */
	assert_null(memcg_tree_unseen(&t->t, T0 + 60 * NS_PER_SEC));
}

static void one_that_ran_out_is_known_after_it_is_gone(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	look(t, T0);
	assert_null(memcg_tree_ran_out(&t->t));
	/* A test cannot make a file whose cgroup is gone; e2e/deaths does that. */
	t->t.gone = (struct memcg_node){
		.path = "cg/job/c/sub", .kills = 1, .limit = 900, .peak = 900
	};
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)), "sub");
	/* A cgroup that still exists shows more. */
	put_v1(t, "cg/job/c/live", 1, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_SEC);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)), "live");
	memcg_tree_forget(&t->t);
	assert_null(memcg_tree_ran_out(&t->t));
}

static void on_v2_nothing_is_lost_with_a_cgroup_below(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	look(t, T0);
	assert_int_equal(mkdirat(t->root.fd, "cg/job/c/brief", 0755), 0);
	assert_int_equal(unlinkat(t->root.fd, "cg/job/c/brief", AT_REMOVEDIR), 0);
	look(t, T0 + NS_PER_MS);
	assert_null(memcg_tree_unseen(&t->t, T0 + NS_PER_MS));
}

static void thousands_of_cgroups_are_bounded_and_reported_as_unseen(void **state)
{
	struct tree *t = *state;
	char deep[MEMCG_PATH_MAX] = "cg/job/c";

	begin(t, 1);
	for (int i = 0; i < MEMCG_VISITS_MAX + 50; i++) {
		char path[64];

		snprintf(path, sizeof(path), "cg/job/c/x%d", i);
		put_v1(t, path, 1, "5\n", "900\n", "1\n");
	}
	look(t, T0);
	assert_int_equal(t->t.n_nodes, MEMCG_NODES_MAX);
	assert_true(t->t.too_many);
	assert_non_null(strstr(memcg_tree_unseen(&t->t, T0), "too many"));
	/* The tree is very deep, and has a name that does not fit into any path. */
	for (int i = 0; i < 30; i++) {
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/deepdeepdeep");
		put_v1(t, deep, 0, "5\n", "900\n", "1\n");
	}
	look(t, T0 + NS_PER_SEC);
	assert_int_equal(t->t.n_nodes, MEMCG_NODES_MAX);
}

static void a_directory_full_of_files_is_not_read_to_its_end(void **state)
{
	struct tree *t = *state;
	unsigned int listed;

	put_v1(t, "cg/job/c/below", 1, "5\n", "900\n", "1\n");
	begin(t, 1);
	endless = 1;
	look(t, T0);
	listed = endless;
	endless = 0;
	assert_in_range(listed, 2, MEMCG_ENTRIES_MAX + 2);
	assert_true(t->t.too_many);
}

static void hostile_files_and_links_are_no_cgroups(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	put_v1(t, "cg/job/other", 9, "5\n", "900\n", "900\n");
	assert_int_equal(symlinkat("../other", t->root.fd, "cg/job/c/link"), 0);
	put(t, "cg/job/c/empty/nothing", "");
	put(t, "cg/job/c/junk/memory.oom_control",
	    "oom_kill\noom_kill x\noom_kill -5\noom_killer 7\n");
	assert_int_equal(mkdirat(t->root.fd, "cg/job/c/fifo", 0755), 0);
	assert_int_equal(mkfifoat(t->root.fd, "cg/job/c/fifo/memory.oom_control", 0644), 0);
	look(t, T0);
	assert_int_equal(memcg_tree_kills(&t->t), 0);
}

static void a_process_that_was_moved_is_followed(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	put_v1(t, "cg/system/run-1.scope", 3, "5\n", "900\n", "900\n");
	put(t, "proc/8/cgroup", "4:memory:/system/run-1.scope\n");
	put(t, "proc/8/mountinfo", "30 1 0:26 / /cg rw - cgroup cgroup rw,memory\n");
	look(t, T0);
	t->t.killed_elsewhere = true;
	assert_non_null(strstr(memcg_tree_unseen(&t->t, T0), "moved to one just before"));
	t->t.killed_elsewhere = false;
	assert_false(memcg_tree_follow(&t->t, 8)); /* it may have been killed there before */
	assert_true(memcg_tree_follow(&t->t, 8)); /* the second time it is known */
	assert_false(memcg_tree_follow(&t->t, 99)); /* this process has ended */
	assert_int_equal(t->t.n_nodes, 1);
	assert_null(memcg_tree_unseen(&t->t, T0 + NS_PER_MS));
	/* What it counted before concerns other processes */
	assert_int_equal(memcg_tree_kills(&t->t), 0);
	put_v1(t, "cg/system/run-1.scope", 4, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_MS);
	assert_int_equal(memcg_tree_kills(&t->t), 1);
	assert_int_equal(memcg_tree_kills_outside(&t->t), 1);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)),
			    "/system/run-1.scope");
}

static void a_limit_above_the_cgroup_that_a_process_was_moved_to_is_known(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	put_v2(t, "cg/ray-node_1", 2, 4, "5\n", "max\n");
	put_v2(t, "cg/ray-node_1/user", 2, 4, "800\n", "900\n");
	put_v2(t, "cg/ray-node_1/user/workers", 0, 3, "700\n", "max\n");
	put(t, "proc/8/cgroup", "0::/ray-node_1/user/workers\n");
	put(t, "proc/8/mountinfo", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	memcg_tree_follow(&t->t, 8);
	look(t, T0);
	/* Of the two cgroups above, only the one with a limit is added. */
	assert_int_equal(t->t.n_nodes, 2);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_tightest(&t->t)), "/ray-node_1/user");
	assert_null(memcg_tree_ran_out(&t->t));
	put_v2(t, "cg/ray-node_1/user", 3, 5, "800\n", "900\n");
	put_v2(t, "cg/ray-node_1/user/workers", 0, 4, "700\n", "max\n");
	look(t, T0 + NS_PER_MS);
	/* v2 counts the kill in both, but it is a single kill. */
	assert_int_equal(memcg_tree_kills(&t->t), 1);
	assert_int_equal(memcg_tree_kills_outside(&t->t), 1);
	assert_string_equal(memcg_tree_name(&t->t, memcg_tree_ran_out(&t->t)), "/ray-node_1/user");
	/* When a process is moved into it, its counts are used. */
	put(t, "proc/9/cgroup", "0::/ray-node_1/user\n");
	put(t, "proc/9/mountinfo", "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
	memcg_tree_follow(&t->t, 9);
	assert_int_equal(t->t.n_nodes, 2);
}

static void in_a_shared_cgroup_only_those_of_its_processes_count(void **state)
{
	struct tree *t = *state;

	begin(t, 1);
	t->t.walks = false;
	put_v1(t, "cg/job/c/neighbour", 5, "5\n", "900\n", "900\n");
	put_v1(t, "cg/job/c/ours", 1, "5\n", "900\n", "900\n");
	put(t, "proc/8/cgroup", "4:memory:/job/c/ours\n");
	put(t, "proc/8/mountinfo", "30 1 0:26 / /cg rw - cgroup cgroup rw,memory\n");
	memcg_tree_follow(&t->t, 7);
	memcg_tree_follow(&t->t, 8);
	look(t, T0);
	assert_int_equal(t->t.n_nodes, 1);
	assert_int_equal(memcg_tree_kills(&t->t), 0);
	put_v1(t, "cg/job/c/neighbour", 6, "5\n", "900\n", "900\n");
	put_v1(t, "cg/job/c/ours", 2, "5\n", "900\n", "900\n");
	look(t, T0 + NS_PER_MS);
	assert_int_equal(memcg_tree_kills(&t->t), 1);
}

static void a_process_that_went_where_nothing_is_seen_leaves_doubt(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	put(t, "proc/8/cgroup", "0::/../../elsewhere\n");
	put(t, "proc/8/mountinfo", "30 1 0:26 /job /cg rw - cgroup2 cgroup2 rw\n");
	look(t, T0);
	memcg_tree_follow(&t->t, 8);
	assert_non_null(strstr(memcg_tree_unseen(&t->t, T0), "cannot be seen from here"));
}

static void a_container_that_can_go_nowhere_leaves_no_doubt(void **state)
{
	struct tree *t = *state;

	begin(t, 2);
	t->t.place.writable = false; /* mounted as in a container without privileges */
	look(t, T0);
	assert_null(memcg_tree_unseen(&t->t, T0 + 60 * NS_PER_SEC));
	t->t.place.writable = true;
	snprintf(t->t.place.path, sizeof(t->t.place.path), "/cg"); /* it sees only its own cgroup */
	assert_null(memcg_tree_unseen(&t->t, T0 + 60 * NS_PER_SEC));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		TEST(without_cgroups_below_there_is_nothing_to_say),
		TEST(v1_kills_below_are_summed),
		TEST(v2_kills_below_are_in_the_containers_own_count),
		TEST(with_local_events_v2_is_summed_as_well),
		TEST(the_limit_that_ran_out_is_found_on_v2),
		TEST(the_limit_that_ran_out_is_found_on_v1),
		TEST(that_a_limit_was_full_is_known_for_two_looks),
		TEST(cgroups_made_later_are_noticed),
		TEST(what_went_before_its_parent_was_watched_is_unseen),
		TEST(counters_that_come_later_are_found),
		TEST(without_inotify_the_number_of_links_tells),
		TEST(a_cgroup_that_came_and_went_is_reported_as_unseen),
		TEST(one_that_ran_out_is_known_after_it_is_gone),
		TEST(on_v2_nothing_is_lost_with_a_cgroup_below),
		TEST(thousands_of_cgroups_are_bounded_and_reported_as_unseen),
		TEST(a_directory_full_of_files_is_not_read_to_its_end),
		TEST(hostile_files_and_links_are_no_cgroups),
		TEST(a_process_that_was_moved_is_followed),
		TEST(a_limit_above_the_cgroup_that_a_process_was_moved_to_is_known),
		TEST(in_a_shared_cgroup_only_those_of_its_processes_count),
		TEST(a_process_that_went_where_nothing_is_seen_leaves_doubt),
		TEST(a_container_that_can_go_nowhere_leaves_no_doubt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
