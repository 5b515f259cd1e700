/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of tar headers. Whether GNU tar and Python can read them is tested with the programs that
 * write archives.
 */
#include "lib/tar.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void what_was_made_is_read_again(void **state)
{
	static const struct {
		const char *name;
		int64_t size;
	} rows[] = {
		{ "report.txt", 0 }, { "logs/raylet.out", 513 }, { HUNDRED, 1 }, { "core", TAR_SIZE_MAX }, { "logs/" HUNDRED, 7 },
		{ HUNDRED "/" HUNDRED, 7 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char block[TAR_BLOCK], name[TAR_NAME_MAX];
		int64_t size = -1;

		assert_int_equal(tar_header_make(rows[i].name, rows[i].size, block, NULL), 0);
		assert_int_equal(tar_header_parse(block, name, &size, NULL), 0);
		assert_string_equal(name, rows[i].name);
		assert_true(size == rows[i].size);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	char block[TAR_BLOCK];
	(void)state;

	assert_int_equal(tar_header_make(HUNDRED "0", 1, block, NULL), -ENAMETOOLONG);
	assert_int_equal(tar_header_make(HUNDRED TEN TEN TEN TEN TEN TEN "/x", 1, block, NULL),
			 -ENAMETOOLONG);
	assert_int_equal(tar_header_make("x", TAR_SIZE_MAX + 1, block, NULL), -EFBIG);
	assert_int_equal(tar_header_make("x", -1, block, NULL), -EFBIG);
}

static void zeros_are_the_end(void **state)
{
	char block[TAR_BLOCK] = { 0 }, name[TAR_NAME_MAX];
	int64_t size;
	(void)state;

	assert_int_equal(tar_header_parse(block, name, &size, NULL), 1);
}

static void a_name_that_leads_elsewhere_is_not_accepted(void **state)
{
	static const char *const names[] = { "/etc/passwd", "../x",    "a/../../x", "a//b",
					     "a/",	    ".hidden", "a/.hidden", ".",
					     "a\nb",	    "a\x7f",   "a\\b",	    "a\xc2\x9b",
					     "\xe2\x80\xae" };
	char block[TAR_BLOCK], name[TAR_NAME_MAX];
	int64_t size;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(tar_header_make(names[i], 1, block, NULL), 0);
		if (tar_header_parse(block, name, &size, NULL) != -EBADMSG)
			fail_msg("%s is accepted", names[i]);
	}
}

static void what_is_no_header_of_a_regular_file_is_not_accepted(void **state)
{
	char block[TAR_BLOCK], name[TAR_NAME_MAX];
	int64_t size;
	(void)state;

	memset(block, 'x', sizeof(block));
	assert_int_equal(tar_header_parse(block, name, &size, NULL), -EBADMSG);
	assert_int_equal(tar_header_make("x", 1, block, NULL), 0);
	block[0] = 'y'; /* so that the checksum is wrong */
	assert_int_equal(tar_header_parse(block, name, &size, NULL), -EBADMSG);
	assert_int_equal(tar_header_make("x", 1, block, NULL), 0);
	block[156] += 2; /* makes it a symbolic link, and adapts the checksum */
	block[153] += 2;
	assert_int_equal(tar_header_parse(block, name, &size, NULL), -EBADMSG);
}

static void a_file_is_filled_up_to_a_block(void **state)
{
	(void)state;
	assert_int_equal(tar_padding(0), 0);
	assert_int_equal(tar_padding(1), 511);
	assert_int_equal(tar_padding(512), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_made_is_read_again),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(zeros_are_the_end),
		cmocka_unit_test(a_name_that_leads_elsewhere_is_not_accepted),
		cmocka_unit_test(what_is_no_header_of_a_regular_file_is_not_accepted),
		cmocka_unit_test(a_file_is_filled_up_to_a_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
