/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of shell patterns below a directory that stands for a container's root. */
#include "sidecar/ending/root_glob.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];
static int root_fd = -1;
static char found[1024];

static int setup(void **state)
{
	char command[512];
	(void)state;

	snprintf(root, sizeof(root), "/tmp/root_glob_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(
		command, sizeof(command),
		"cd %s && mkdir -p tmp/a/x tmp/b/x home && touch tmp/1.prof tmp/.hidden.prof tmp/2.bin tmp/a/x/f tmp/b/x/f && "
		"ln -s /tmp home/absolute && ln -s ../../../../.. home/up && ln -s /proc/self/root home/magic && ln -s . tmp/loop",
		root);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return system(command);
}

static int teardown(void **state)
{
	char command[128];
	(void)state;

	close(root_fd);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static bool note(const char *path, void *arg)
{
	size_t len = strlen(found);
	(void)arg;

	snprintf(found + len, sizeof(found) - len, "%s%s", len ? " " : "", path);
	return len < 500;
}

static const char *matches(const char *pattern)
{
	found[0] = '\0';
	assert_true(root_glob(root_fd, pattern, note, NULL));
	return found;
}

static void patterns_match_as_a_shells_do(void **state)
{
	(void)state;
	assert_string_equal(matches("/tmp/*.prof"), "tmp/1.prof");
	assert_string_equal(matches("/tmp/[0-9].bin"), "tmp/2.bin");
	assert_string_equal(matches("//tmp//?.bin"), "tmp/2.bin");
	assert_string_equal(matches("/tmp/[ab]/x/f") + strlen("tmp/?/x/f"),
			    found[4] == 'a' ? " tmp/b/x/f" : " tmp/a/x/f");
	assert_string_equal(matches("/tmp/*.none"), "");
	assert_string_equal(matches("/none/*"), "");
	assert_string_equal(matches("/t*p/1.prof"), "tmp/1.prof");
}

static void links_stay_inside_the_root(void **state)
{
	(void)state;
	assert_string_equal(matches("/home/absolute/*.prof"), "home/absolute/1.prof");
	assert_string_equal(matches("/home/up/tmp/*.prof"), "home/up/tmp/1.prof");
	assert_string_equal(matches("/home/magic/*"), "");
	/* The parent of the root is the root. */
	assert_string_equal(matches("/../../*ome"), "../../home");
}

static void what_is_looked_at_is_bounded(void **state)
{
	(void)state;
	/* Through the loop of links, every level has the same entries. */
	found[0] = '\0';
	root_glob(root_fd, "/tmp/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/f", note, NULL);
	assert_true(strlen(found) < sizeof(found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_a_shells_do),
		cmocka_unit_test(links_stay_inside_the_root),
		cmocka_unit_test(what_is_looked_at_is_bounded),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
