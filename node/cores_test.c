/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking core_pattern over and giving it back, in a root directory of the test's own. What the
 * kernel does: e2e/kernel/node_cores_test.sh.
 */
#include "node/cores.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define DIRECTORY "/var/lib/afterglow"
#define PATTERN "proc/sys/kernel/core_pattern"

static char root[64];
static int root_fd;
static struct node_options options;
static struct node node;

static void put(const char *path, const char *text)
{
	assert_int_equal(file_put(root_fd, path, text, strlen(text), 0600, NULL), 0);
}

static int set_up(void **state)
{
	char path[128];

	(void)state;
	snprintf(root, sizeof(root), "/tmp/cores_test.XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/proc/sys/kernel", root);
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s" DIRECTORY, root);
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	options = (struct node_options){
		.root = root, .directory = DIRECTORY, .kubelet = "/var/lib/kubelet", .cores = true
	};
	node = (struct node){ .options = &options };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(root_fd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

static void is_pattern(const char *text)
{
	_cleanup_strbuf_ struct strbuf now = STRBUF_INIT(4096);

	assert_int_equal(file_read(root_fd, PATTERN, &now, NULL), 0);
	/* The kernel's file ends with what was written last, this one may be longer. */
	assert_memory_equal(strbuf_str(&now), text, strlen(text));
	assert_int_equal(strbuf_str(&now)[strlen(text)], '\n');
}

static void an_agent_that_cannot_start_its_part_gives_the_pattern_of_a_killed_one_back(void **state)
{
	struct err err = { 0 };

	(void)state;
	put(PATTERN, "|/var/lib/afterglow/afterglow-core1 %P %s %c %du /tmp/core.%e\n");
	/* As a disk that is full: the program cannot be put there. */
	assert_int_equal(fchmodat(root_fd, DIRECTORY + 1, 0777, 0), 0);
	assert_true(cores_start(&node, &err) < 0);
	is_pattern("|/var/lib/afterglow/afterglow-core1 %P %s %c %du /tmp/core.%e");
	cores_stop();
	is_pattern("/tmp/core.%e");
}

static void the_pattern_of_others_stays_when_the_part_did_not_start(void **state)
{
	struct err err = { 0 };

	(void)state;
	put(PATTERN, "|/usr/lib/systemd/systemd-coredump %P\n");
	assert_int_equal(fchmodat(root_fd, DIRECTORY + 1, 0777, 0), 0);
	assert_true(cores_start(&node, &err) < 0);
	cores_stop();
	is_pattern("|/usr/lib/systemd/systemd-coredump %P");
}

static void what_a_killed_agent_left_for_its_probe_swallows_no_core(void **state)
{
	struct err err = { 0 };

	(void)state;
	if (geteuid() != 0)
		fail_msg("the kernel runs programs of root alone: this test needs root");
	put(PATTERN, "@/run/coredump.sock\n");
	put("var/lib/afterglow/probe-4711", "");
	put("var/lib/afterglow/probed", "");
	assert_int_equal(cores_start(&node, &err), 0);
	assert_int_equal(faccessat(root_fd, "var/lib/afterglow/afterglow-core1", X_OK, 0), 0);
	assert_int_not_equal(faccessat(root_fd, "var/lib/afterglow/probe-4711", F_OK, 0), 0);
	assert_int_equal(faccessat(root_fd, "var/lib/afterglow/probed", F_OK, 0), 0);
	cores_stop();
	is_pattern("@/run/coredump.sock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_agent_that_cannot_start_its_part_gives_the_pattern_of_a_killed_one_back,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_pattern_of_others_stays_when_the_part_did_not_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_a_killed_agent_left_for_its_probe_swallows_no_core, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
