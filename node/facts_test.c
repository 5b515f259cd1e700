/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the facts of a node, on directory trees that the test makes. */
#include "node/facts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"

struct tree {
	char root[64], proc[96];
};

static int set_up(void **state)
{
	static struct tree t;

	snprintf(t.root, sizeof(t.root), "/tmp/afterglow-facts-XXXXXX");
	assert_non_null(mkdtemp(t.root));
	snprintf(t.proc, sizeof(t.proc), "%s/proc", t.root);
	*state = &t;
	return 0;
}

static int tear_down(void **state)
{
	tree_remove(AT_FDCWD, ((struct tree *)*state)->root);
	return 0;
}

static void put(const struct tree *t, const char *directory, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", t->root, directory);
	assert_int_equal(dir_make_all(path, 0700, NULL), 0);
	snprintf(path, sizeof(path), "%s%s/%s", t->root, directory, file);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static void a_current_node_with_systemd_is_described(void **state)
{
	const struct tree *t = *state;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	struct facts f;

	put(t, "/sys/fs/cgroup", "cgroup.controllers", "memory\n");
	put(t, "/sys/fs/cgroup/kubepods.slice", "memory.oom.group", "0\n");
	put(t, "/run/containerd", "containerd.sock", "");
	put(t, "/proc", "meminfo", "MemTotal: 1 kB\nSwapTotal:       2048 kB\n");
	put(t, "/proc/sys/kernel", "core_pattern", "|/lib/systemd/systemd-coredump %P \"x\\\n");
	put(t, "/proc/sys/kernel", "dmesg_restrict", "1\n");
	facts_read(t->root, t->proc, "/var/lib/afterglow", &f);
	snprintf(f.kernel, sizeof(f.kernel), "6.1.0");
	facts_to_json(&f, &out);
	assert_string_equal(
		strbuf_str(&out),
		"{\"kernel\":\"6.1.0\",\"cgroupVersion\":2,\"cgroupDriver\":\"systemd\",\"runtime\":\"containerd\","
		"\"corePattern\":\"|/lib/systemd/systemd-coredump %P \\\"x\\\\\",\"swapBytes\":2097152,"
		"\"oomGroup\":true,\"dmesgRestrict\":true}");
}

static void an_old_node_has_no_group_kill(void **state)
{
	const struct tree *t = *state;
	struct facts f;

	put(t, "/sys/fs/cgroup/memory/kubepods", "tasks", "");
	put(t, "/run/crio", "crio.sock", "");
	facts_read(t->root, t->proc, "/var/lib/afterglow", &f);
	assert_int_equal(f.cgroup_version, 1);
	assert_string_equal(f.cgroup_driver, "cgroupfs");
	assert_string_equal(f.runtime, "cri-o");
	assert_int_equal(f.oom_group, 0);
}

static void a_pattern_that_the_agent_leaves_alone_is_marked(void **state)
{
	static const struct {
		const char *pattern;
		bool left_alone;
	} rows[] = {
		{ "core\n", false },
		{ "|/bin/false\n", false },
		{ "|/var/lib/afterglow/afterglow-core1 %P %s %c %d |/bin/false\n", false },
		{ "@@/run/systemd/coredump-kernel\n", true },
		{ "a core\n", true },
	};
	const struct tree *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
		struct facts f;

		put(t, "/proc/sys/kernel", "core_pattern", rows[i].pattern);
		facts_read(t->root, t->proc, "/var/lib/afterglow", &f);
		facts_to_json(&f, &out);
		assert_int_equal(strstr(strbuf_str(&out), "\"coresLeftAlone\":true") != NULL,
				 rows[i].left_alone);
	}
}

static void what_cannot_be_read_is_left_out(void **state)
{
	const struct tree *t = *state;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	struct facts f;

	facts_read(t->root, t->proc, "/var/lib/afterglow", &f);
	f.kernel[0] = '\0';
	facts_to_json(&f, &out);
	assert_string_equal(strbuf_str(&out), "{}");
}

static void the_pattern_is_that_of_the_node_without_the_agent(void **state)
{
	const struct tree *t = *state;
	struct facts f;

	put(t, "/proc/sys/kernel", "core_pattern",
	    "|/var/lib/afterglow/afterglow-core1 %P %s %c %d |/usr/bin/keep %P\n");
	facts_read(t->root, t->proc, "/var/lib/afterglow", &f);
	assert_string_equal(f.core_pattern, "|/usr/bin/keep %P");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_current_node_with_systemd_is_described, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_old_node_has_no_group_kill, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_pattern_is_that_of_the_node_without_the_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pattern_that_the_agent_leaves_alone_is_marked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_read_is_left_out, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
