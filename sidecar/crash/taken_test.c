/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/crash/taken.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"

static const struct core_key one = { 1, 2, 3, 4 }, other = { 1, 2, 5, 4 };

static void what_was_noted_is_known_to_the_next_sidecar(void **state)
{
	char directory[] = "/tmp/taken_test.XXXXXX";
	struct taken *t;
	int dirfd;

	(void)state;
	assert_non_null(mkdtemp(directory));
	dirfd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t = taken_new(dirfd);
	assert_null(taken_find(t, &one));
	taken_note(t, &one, false, "/store/a b/x");
	taken_note(t, &other, true, NULL);
	taken_free(t);
	t = taken_new(dirfd);
	assert_false(taken_find(t, &one)->done);
	assert_string_equal(taken_find(t, &one)->bundle, "/store/a b/x");
	assert_true(taken_find(t, &other)->done);
	assert_null(taken_find(t, &other)->bundle);
	taken_note(t, &one, true, NULL);
	taken_free(t);
	t = taken_new(dirfd);
	assert_true(taken_find(t, &one)->done);
	assert_string_equal(taken_find(t, &one)->bundle, "/store/a b/x");
	taken_free(t);
	close(dirfd);
	assert_true(tree_remove(AT_FDCWD, directory));
}

/* Its owner can set any, also one that no number of nanoseconds can hold. */
static void the_time_of_a_core_is_within_136_years(void **state)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	const struct timespec rows[][2] = { { { 0, UTIME_OMIT }, { INT64_MAX, 0 } },
					    { { 0, UTIME_OMIT }, { INT64_MIN, 0 } } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(futimens(fd, rows[i]), 0);
		assert_int_equal(taken_key(fd).mtime_ns,
				 (i == 0 ? 1 : -1) * (INT64_C(1) << 32) * 1000000000);
	}
	close(fd);
}

static void the_oldest_is_forgotten_first(void **state)
{
	struct taken *t = taken_new(-1);

	(void)state;
	for (uint64_t i = 0; i < TAKEN_MAX + 5; i++)
		taken_note(t, &(struct core_key){ .ino = i }, true, "/x");
	assert_null(taken_find(t, &(struct core_key){ .ino = 4 }));
	assert_non_null(taken_find(t, &(struct core_key){ .ino = 5 }));
	assert_non_null(taken_find(t, &(struct core_key){ .ino = TAKEN_MAX + 4 }));
	taken_free(t);
}

static void lines_that_are_none_are_skipped(void **state)
{
	static const char *const bad[] = { "",	      "R",	     "X 1 2 3 4 -",
					   "R 1 2 3", "R a b c d -", "D 1 2 3 4" };
	struct taken_core core;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad) - 1; i++)
		assert_false(taken_parse_line(bad[i], &core));
	assert_true(taken_parse_line("R 1 2 3 4 not/a/path", &core));
	assert_null(core.bundle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_noted_is_known_to_the_next_sidecar),
		cmocka_unit_test(the_time_of_a_core_is_within_136_years),
		cmocka_unit_test(the_oldest_is_forgotten_first),
		cmocka_unit_test(lines_that_are_none_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
