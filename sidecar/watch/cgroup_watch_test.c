/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading a memory cgroup whose descriptor a launcher passed: a directory with the files
 * of v1.
 */
#include "sidecar/watch/cgroup_watch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"

static char directory[64];

static void put(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static void make_cgroup(const char *name, const char *limit)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/memory.usage_in_bytes", name);
	put(path, "1048576\n");
	snprintf(path, sizeof(path), "%s/memory.limit_in_bytes", name);
	put(path, limit);
	snprintf(path, sizeof(path), "%s/memory.max_usage_in_bytes", name);
	put(path, "2097152\n");
	snprintf(path, sizeof(path), "%s/memory.oom_control", name);
	put(path, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
}

static void mkdir_below(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/cgroup_watch_test.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static void what_a_launcher_hands_over_is_read_without_the_containers_files(void **state)
{
	struct handed_cgroup handed = { .version = 1 };
	struct memcg own = { .version = 0 };
	struct cgroup_watch w;
	struct memory m;
	(void)state;

	make_cgroup(".", "4194304\n");
	make_cgroup("ray-node_1", "3145728\n");
	handed.fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(cgroup_watch_open(&w, &own, -1, 7, &handed, NULL), 0);
	assert_true(own.own);
	cgroup_watch_look_below(&w);
	assert_int_equal(cgroup_watch_read(&w, &own, NS_PER_SEC, true, &m), 0);
	assert_int_equal(m.limit, 4194304);
	/*
	 * v1 counts a kill only in the victim's own cgroup. There were three more in cgroups below.
	 */
	assert_int_equal(m.oom_kill, 6);
	assert_int_equal(cgroup_watch_headroom(&w, &m), 2097152);
	assert_string_equal(memcg_tree_name(&w.tree, memcg_tree_tightest(&w.tree)), "ray-node_1");
	assert_null(cgroup_watch_unseen(&w, NS_PER_SEC, false));
	memcg_close(&own);
	cgroup_watch_close(&w);
	close(handed.fd);
}

static void a_directory_without_counters_is_none(void **state)
{
	struct handed_cgroup handed = { .version = 2,
					.fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	struct memcg own = { .version = 0 };
	struct cgroup_watch w;
	(void)state;

	assert_true(cgroup_watch_open(&w, &own, -1, 7, &handed, NULL) < 0);
	close(handed.fd);
}

static void the_machines_topmost_cgroup_is_nobodys_own(void **state)
{
	struct handed_cgroup handed = { .version = 1 };
	struct memcg own = { .version = 0 };
	struct cgroup_watch w;
	(void)state;

	make_cgroup(".", "9223372036854771712\n");
	/* The kernel shows this file there alone. */
	put("release_agent", "\n");
	handed.fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(cgroup_watch_open(&w, &own, -1, 7, &handed, NULL) < 0);
	assert_int_equal(own.version, 0);
	close(handed.fd);
}

static void make_alive(const char *pid, char process_state)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%s/stat", pid);
	snprintf(text, sizeof(text),
		 "%s (sh) %c 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 100 1000 10 0\n", pid,
		 process_state);
	put(path, text);
}

static void make_process(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%s", pid);
	mkdir_below(path);
	snprintf(path, sizeof(path), "proc/%s/cgroup", pid);
	put(path, "4:memory:/c\n");
	snprintf(path, sizeof(path), "proc/%s/mountinfo", pid);
	put(path, "30 1 0:26 / /cg rw - cgroup cgroup rw,memory\n");
	make_alive(pid, 'S');
}

static void that_the_launcher_was_seen_does_not_tell_where_the_command_is(void **state)
{
	const struct handed_cgroup none = { .fd = -1 };
	const pid_t launcher = 7;
	struct memcg own = { .version = 0 };
	struct cgroup_watch w;
	struct memory m;
	int root;
	(void)state;

	mkdir_below("proc");
	mkdir_below("cg");
	make_cgroup("cg/c", "4194304\n");
	make_process("7");
	root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(cgroup_watch_open(&w, &own, root, launcher, &none, NULL), 0);
	cgroup_watch_find(&w, 8, -1); /* it is being started */
	cgroup_watch_follow(&w, NS_PER_SEC, &launcher, 1);
	assert_non_null(memcg_tree_unseen(&w.tree, NS_PER_SEC + NS_PER_MS));
	/*
	 * Or it has ended, and the last of the kills that its cgroup counts may have been its own.
	 */
	cgroup_watch_find(&w, 8, 2);
	assert_int_equal(cgroup_watch_read(&w, &own, NS_PER_SEC, true, &m), 0);
	assert_null(cgroup_watch_unseen(&w, NS_PER_SEC + NS_PER_MS, true));
	/* The kills before it are not the command's. */
	cgroup_watch_find(&w, 8, 3);
	assert_int_equal(cgroup_watch_read(&w, &own, NS_PER_SEC, true, &m), 0);
	assert_int_equal(m.oom_kill, 3);
	assert_non_null(cgroup_watch_unseen(&w, NS_PER_SEC + NS_PER_MS, true));
	make_process("8");
	make_alive("8", 'Z');
	cgroup_watch_follow(&w, 2 * NS_PER_SEC, &launcher, 1);
	assert_non_null(memcg_tree_unseen(&w.tree, 2 * NS_PER_SEC + NS_PER_MS));
	make_alive("8", 'S');
	cgroup_watch_follow(&w, 3 * NS_PER_SEC, &launcher, 1);
	assert_null(memcg_tree_unseen(&w.tree, 2 * NS_PER_SEC + NS_PER_MS));
	memcg_close(&own);
	cgroup_watch_close(&w);
	close(root);
}

static int64_t machine_kills;

int64_t __wrap_vm_events_oom_kills(void);
int64_t __wrap_vm_events_oom_kills(void)
{
	return machine_kills;
}

/*
 * A command may be moved after it was found, and fill its new cgroup at once. No counter that is
 * watched shows that.
 */
static void a_kill_that_no_cgroup_of_the_container_counts_leaves_doubt(void **state)
{
	static const struct {
		int64_t before, after;
		bool at_home, doubt;
	} cases[] = {
		{ 40, 40, false, false }, { 40, 41, false, true }, { 40, 41, true, false },
		{ 40, -1, false, true },  { -1, 40, false, true },
	};
	const struct handed_cgroup none = { .fd = -1 };
	int root;
	(void)state;

	mkdir_below("proc");
	mkdir_below("cg");
	make_cgroup("cg/c", "4194304\n");
	make_process("7");
	make_process("8");
	root = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memcg own = { .version = 0 };
		struct cgroup_watch w;
		struct memory m;

		put("cg/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
		assert_int_equal(cgroup_watch_open(&w, &own, root, 7, &none, NULL), 0);
		machine_kills = cases[i].before;
		assert_int_equal(cgroup_watch_read(&w, &own, NS_PER_SEC, false, &m), 0);
		/* It is found at once, before a first sample. */
		cgroup_watch_find(&w, 8, 3);
		machine_kills = cases[i].after;
		if (cases[i].at_home)
			put("cg/c/memory.oom_control",
			    "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
		assert_int_equal(cgroup_watch_read(&w, &own, NS_PER_SEC, true, &m), 0);
		assert_int_equal(m.oom_kill, cases[i].at_home ? 4 : 3);
		assert_int_equal(cgroup_watch_unseen(&w, NS_PER_SEC + NS_PER_MS, true) != NULL,
				 cases[i].doubt);
		assert_non_null(cgroup_watch_unseen(&w, NS_PER_SEC + NS_PER_MS, false));
		memcg_close(&own);
		cgroup_watch_close(&w);
	}
	close(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_a_launcher_hands_over_is_read_without_the_containers_files, setup,
			teardown),
		cmocka_unit_test_setup_teardown(the_machines_topmost_cgroup_is_nobodys_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_directory_without_counters_is_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			that_the_launcher_was_seen_does_not_tell_where_the_command_is, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_kill_that_no_cgroup_of_the_container_counts_leaves_doubt, setup,
			teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
