/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of line tables: those that Python 3.9, 3.10 and 3.11 made for one function, and hostile
 * ones.
 */
#include "sidecar/unwind/python_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "lib/macros.h"

#define FIRST_LINE 2

struct row {
	int64_t offset;
	int line;
};

static const uint8_t lnotab[] = {
	0x00, 0x02, 0x02, 0x01, 0x02, 0xff, 0x04, 0x02, 0x0c, 0x01, 0x04, 0x01, 0x02, 0x01, 0x0a, 0x02, 0x02, 0x01,
	0x04, 0x02, 0x02, 0xfe, 0x06, 0x04, 0x04, 0x01,
};
static const struct row lnotab_rows[] = {
	{ 0, 4 }, { 2, 5 }, { 4, 4 }, { 8, 6 }, { 20, 7 }, { 24, 8 }, { 26, 9 }, { 36, 11 }, { 38, 12 }, { 42, 14 },
	{ 44, 12 }, { 50, 16 }, { 54, 17 }, { 57, 17 },
};

static const uint8_t linetable[] = {
	0x02, 0x02, 0x02, 0x01, 0x04, 0xff, 0x0c, 0x02, 0x04, 0x01, 0x02, 0x01, 0x0a, 0x01, 0x02, 0x02, 0x04, 0x01,
	0x02, 0x02, 0x06, 0xfe, 0x02, 0x04, 0x04, 0x01, 0x02, 0xff,
};
static const struct row linetable_rows[] = {
	{ 0, 4 }, { 2, 5 }, { 4, 4 }, { 8, 6 }, { 19, 6 }, { 20, 7 }, { 24, 8 }, { 26, 9 }, { 36, 11 }, { 38, 12 },
	{ 42, 14 }, { 44, 12 }, { 50, 16 }, { 52, 17 }, { 56, 16 }, { 58, 0 },
};

static const uint8_t locations[] = {
	0x80, 0x00, 0xe0, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0xf1, 0x03, 0x01, 0x0a, 0x0b, 0x80, 0x41, 0xe5, 0x0d, 0x12,
	0x90, 0x31, 0x89, 0x58, 0x8c, 0x58, 0xf0, 0x00, 0x03, 0x05, 0x0f, 0xf0, 0x00, 0x03, 0x05, 0x0f, 0x88, 0x01,
	0xd8, 0x0b, 0x0c, 0xf0, 0x00, 0x01, 0x09, 0x15, 0xd8, 0x0c, 0x14, 0xd8, 0x08, 0x09, 0x88, 0x51, 0x89, 0x06,
	0x88, 0x01, 0x88, 0x01, 0xf0, 0x04, 0x05, 0x05, 0x0d, 0xdd, 0x08, 0x09, 0x88, 0x21, 0xe0, 0x0a, 0x0b, 0xf1,
	0x05, 0x02, 0x09, 0x0d, 0xf4, 0x00, 0x02, 0x09, 0x0d, 0xf0, 0x00, 0x02, 0x09, 0x0d, 0xf0, 0x08, 0x00, 0x09,
	0x0d, 0xf8, 0x88, 0x04, 0x88, 0x04, 0x88, 0x04, 0x88, 0x04, 0xd8, 0x0b, 0x0c, 0x80, 0x48,
};
static const struct row locations_rows[] = {
	{ 0, 2 }, { 2, 4 }, { 4, 5 }, { 6, 4 }, { 10, 4 }, { 12, 6 }, { 26, 6 }, { 46, 7 }, { 50, 8 }, { 52, 9 },
	{ 60, 9 }, { 64, 11 }, { 66, 12 }, { 80, 14 }, { 82, 12 }, { 98, 16 }, { 100, 0 }, { 102, 16 }, { 110, 17 }, { 113, 17 },
	{ 114, 0 },
};

static void check(enum python_lines kind, const uint8_t *table, size_t len, const struct row *rows,
		  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int line = python_line(kind, table, len, FIRST_LINE, rows[i].offset);

		if (line != rows[i].line)
			fail_msg("offset %d: line %d, not %d", (int)rows[i].offset, line,
				 rows[i].line);
	}
}

static void each_offset_has_the_line_that_python_says(void **state)
{
	(void)state;
	check(PYTHON_LNOTAB, lnotab, sizeof(lnotab), lnotab_rows, ARRAY_SIZE(lnotab_rows));
	check(PYTHON_LINETABLE, linetable, sizeof(linetable), linetable_rows,
	      ARRAY_SIZE(linetable_rows));
	check(PYTHON_LOCATIONS, locations, sizeof(locations), locations_rows,
	      ARRAY_SIZE(locations_rows));
}

static void a_frame_that_has_not_begun_is_at_the_first_line(void **state)
{
	(void)state;
	for (int kind = PYTHON_LNOTAB; kind <= PYTHON_LOCATIONS; kind++)
		assert_int_equal(
			python_line((enum python_lines)kind, locations, sizeof(locations), 7, -1),
			7);
}

static void an_empty_or_cut_table_gives_no_line_or_the_first(void **state)
{
	(void)state;
	assert_int_equal(python_line(PYTHON_LNOTAB, NULL, 0, 7, 10), 7);
	assert_int_equal(python_line(PYTHON_LINETABLE, NULL, 0, 7, 10), 0);
	assert_int_equal(python_line(PYTHON_LOCATIONS, NULL, 0, 7, 10), 0);
	assert_int_equal(python_line(PYTHON_LNOTAB, lnotab, 1, 7, 10), 7);
	assert_int_equal(python_line(PYTHON_LINETABLE, linetable, 1, 7, 10), 0);
}

static void lines_stay_numbers_one_can_print(void **state)
{
	/* A long entry with the largest step that six bytes of six bits can express. */
	static const uint8_t up[] = { 0xf0, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f },
			     down[] = { 0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f };
	static const uint8_t endless[] = { 0xf0, 0x7f, 0x7f, 0x7f, 0x7f,
					   0x7f, 0x7f, 0x7f, 0x7f, 0x7f };

	(void)state;
	assert_int_equal(python_line(PYTHON_LOCATIONS, up, sizeof(up), 7, 0), 0);
	assert_int_equal(python_line(PYTHON_LOCATIONS, down, sizeof(down), 7, 0), 0);
	assert_int_equal(python_line(PYTHON_LOCATIONS, endless, sizeof(endless), 7, 0), 0);
	assert_int_equal(python_line(PYTHON_LNOTAB, lnotab, sizeof(lnotab), -5, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_offset_has_the_line_that_python_says),
		cmocka_unit_test(a_frame_that_has_not_begun_is_at_the_first_line),
		cmocka_unit_test(an_empty_or_cut_table_gives_no_line_or_the_first),
		cmocka_unit_test(lines_stay_numbers_one_can_print),
	};

	return cmocka_run_group_tests_name("python_lines", tests, NULL, NULL);
}
