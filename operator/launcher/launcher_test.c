/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which files are accepted as launchers, and of the names of their keys. */
#include "operator/launcher/launcher.h"

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
#include <sys/utsname.h>
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

static void write_file(const char *name, const void *bytes, size_t len)
{
	assert_int_equal(file_write(AT_FDCWD, path_of(name), bytes, len, 0644, NULL), 0);
}

static void a_file_is_there_with_every_byte(void **state)
{
	static const char bytes[] = "\177ELF\0and more";
	struct launchers launchers = { 0 };
	struct utsname name;
	(void)state;

	write_file("launcher", bytes, sizeof(bytes));
	assert_int_equal(launchers_load(path_of("launcher"), &launchers, NULL), 0);
	assert_int_equal(launchers.n, 1);
	assert_int_equal(launchers.of[0].len, sizeof(bytes));
	assert_memory_equal(launchers.of[0].data, bytes, sizeof(bytes));
	uname(&name);
	assert_string_equal(launchers.of[0].machine, name.machine);
	launchers_release(&launchers);
	assert_int_equal(launchers.n, 0);
	launchers_release(&launchers);
}

static void a_directory_has_a_launcher_for_each_machine(void **state)
{
	struct launchers launchers = { 0 };
	struct err err = { 0 };
	(void)state;

	assert_int_equal(mkdir(path_of("both"), 0755), 0);
	assert_int_equal(launchers_load(path_of("both"), &launchers, &err), -ENOENT);
	assert_non_null(strstr(err_text(&err), "/both holds neither x86_64 nor aarch64"));
	write_file("both/aarch64", "arm", 3);
	assert_int_equal(launchers_load(path_of("both"), &launchers, NULL), 0);
	assert_int_equal(launchers.n, 1);
	launchers_release(&launchers);
	write_file("both/x86_64", "amd", 3);
	write_file("both/s390x", "ibm", 3);
	assert_int_equal(launchers_load(path_of("both"), &launchers, NULL), 0);
	assert_int_equal(launchers.n, 2);
	assert_string_equal(launchers.of[0].machine, "x86_64");
	assert_string_equal(launchers.of[0].file, "afterglow-launch");
	assert_memory_equal(launchers.of[0].data, "amd", 3);
	assert_string_equal(launchers.of[1].machine, "aarch64");
	assert_string_equal(launchers.of[1].file, "afterglow-launch-aarch64");
	launchers_release(&launchers);
	write_file("both/aarch64", "", 0);
	assert_int_equal(launchers_load(path_of("both"), &launchers, &err), -EINVAL);
	assert_int_equal(launchers.n, 0);
}

static void a_key_says_the_machine_and_the_content(void **state)
{
	struct launcher launcher = launcher_of("aarch64", "abc", 3);
	(void)state;

	assert_string_equal(launcher.sha256,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_string_equal(launcher.key, "launch-aarch64-ba7816bf8f01cfea");
	assert_true(launcher_is_key(launcher.key));
}

static void only_keys_of_launchers_are_taken_for_ours(void **state)
{
	static const struct {
		const char *key;
		bool ours;
	} rows[] = {
		{ "launch-x86_64-0123456789abcdef", true },
		{ "launch-aarch64-0000000000000000", true },
		{ "launch-aarch64-000000000000000", false },
		{ "launch-aarch64-00000000000000000", false },
		{ "launch-x86_64-0123456789abcdeF", false },
		{ "launch-x86_64-0123456789abcde.", false },
		{ "launch-x86_640-123456789abcdef", false },
		{ "launch-s390x-0123456789abcdef", false },
		{ "launch-x86_64-", false },
		{ "launch-", false },
		{ "launch", false },
		{ "afterglow-launch", false },
		{ "", false },
		{ NULL, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (launcher_is_key(rows[i].key) != rows[i].ours)
			fail_msg("%s", rows[i].key);
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
		{ "large", -EFBIG, " has more than 245760 bytes" },
		{ "fifo", -EINVAL, " is no regular file" },
	};
	struct launchers launchers = { 0 };
	(void)state;

	write_file("empty", "", 0);
	write_file("large", "x", 1);
	assert_int_equal(truncate(path_of("large"), (off_t)LAUNCHER_MAX + 1), 0);
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		assert_int_equal(launchers_load(path_of(rows[i].name), &launchers, &err),
				 rows[i].error);
		if (!strstr(err_text(&err), rows[i].text) ||
		    !strstr(err_text(&err), path_of(rows[i].name)))
			fail_msg("%s: %s", rows[i].name, err_text(&err));
		assert_int_equal(launchers.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_there_with_every_byte),
		cmocka_unit_test(a_directory_has_a_launcher_for_each_machine),
		cmocka_unit_test(a_key_says_the_machine_and_the_content),
		cmocka_unit_test(only_keys_of_launchers_are_taken_for_ours),
		cmocka_unit_test(what_cannot_be_a_launcher_is_refused_by_name),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
