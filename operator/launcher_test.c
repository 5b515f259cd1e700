/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which file is taken for a launcher. */
#include "operator/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"

static char dir[] = "/tmp/launcher_test.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, dir) ? 0 : -1;
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void a_file_is_there_with_every_byte(void **state)
{
	static const char bytes[] = "\177ELF\0and more";
	struct launcher launcher = { 0 };
	(void)state;

	assert_int_equal(file_write(AT_FDCWD, path_of("launcher"), bytes, sizeof(bytes), 0644, NULL), 0);
	assert_int_equal(launcher_map(path_of("launcher"), &launcher, NULL), 0);
	assert_int_equal(launcher.len, sizeof(bytes));
	assert_memory_equal(launcher.data, bytes, sizeof(bytes));
	launcher_release(&launcher);
	assert_null(launcher.data);
	launcher_release(&launcher);
}

static void what_cannot_be_a_launcher_is_refused_by_name(void **state)
{
	static const struct {
		const char *name;
		int error;
		const char *text;
	} rows[] = {
		{ "none", -ENOENT, "open " },
		{ "empty", -EINVAL, " is empty" },
		{ "large", -EFBIG, " has more than 716800 bytes" },
		{ "fifo", -EINVAL, " is no regular file" },
		{ "", -EINVAL, " is no regular file" }, /* the directory */
	};
	struct launcher launcher = { 0 };
	(void)state;

	assert_int_equal(file_write(AT_FDCWD, path_of("empty"), "", 0, 0644, NULL), 0);
	assert_int_equal(file_write(AT_FDCWD, path_of("large"), "x", 1, 0644, NULL), 0);
	assert_int_equal(truncate(path_of("large"), (off_t)LAUNCHER_MAX + 1), 0);
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		assert_int_equal(launcher_map(path_of(rows[i].name), &launcher, &err), rows[i].error);
		if (!strstr(err_text(&err), rows[i].text) || !strstr(err_text(&err), path_of(rows[i].name)))
			fail_msg("%s: %s", rows[i].name, err_text(&err));
		assert_null(launcher.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_there_with_every_byte),
		cmocka_unit_test(what_cannot_be_a_launcher_is_refused_by_name),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
