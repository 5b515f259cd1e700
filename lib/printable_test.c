/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of text that others made. */
#include "lib/printable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/macros.h"

static const struct {
	const char *name, *from;
	size_t len, size;
	const char *expect;
} rows[] = {
	{ "plain", "ray::f", 6, 16, "ray::f" },
	{ "NULs are blanks", "a\0b", 3, 16, "a b" },
	{ "controls and escapes", "a\x1b[31m\n", 7, 16, "a?[31m?" },
	{ "a character is never cut", "gr\xc3\xbc" "n", 5, 4, "gr" },
	{ "UTF-8 stays", "gr\xc3\xbc", 4, 16, "gr\xc3\xbc" },
	{ "no UTF-8", "\xff\xc0\xaf", 3, 16, "???" },
	{ "a surrogate", "\xed\xa0\x80", 3, 16, "???" },
	{ "text turned around", "\xe2\x80\xae", 3, 16, "???" },
	{ "marks of a direction", "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", 8, 16, "????????" },
	{ "an end of a line and an isolate", "\xe2\x80\xa8\xe2\x81\xa6", 6, 16, "??????" },
	{ "room for the NUL only", "abc", 3, 1, "" },
};

static void text_is_made_fit_for_a_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[32];

		memset(out, 'x', sizeof(out));
		copy_printable(out, rows[i].size, rows[i].from, rows[i].len);
		if (strcmp(out, rows[i].expect) != 0)
			fail_msg("%s: \"%s\"", rows[i].name, out);
	}
}

static void text_is_mended_in_place_and_lines_stay(void **state)
{
	char text[] = "a\x1b[31m\n\tgr\xc3\xbc" "n\xc2\x9b" "2J\xff\0z";
	(void)state;

	mend_printable(text, sizeof(text) - 1, "\n");
	assert_memory_equal(text, "a?[31m\n?gr\xc3\xbc" "n??2J? z", sizeof(text));
	mend_printable(text, sizeof(text) - 1, "");
	assert_memory_equal(text, "a?[31m??gr\xc3\xbc" "n??2J? z", sizeof(text));
}

static void of_a_long_text_the_beginning_and_the_end_are_kept(void **state)
{
	static const struct {
		const char *from, *expect;
		size_t size;
	} cases[] = {
		{ "short", "short", 16 },
		{ "fifteen bytes..", "fifteen bytes..", 16 },
		{ "sixteen bytes...", "sixte ... es...", 16 },
		{ "abcdefgh: Check failed: x", "abcde ... ed: x", 16 },
		{ "ab\xc3\xbc" "cdefgh: Check fail\xc3\xbc" "abcdef", "ab\xc3\xbc" "c ... bcdef", 16 },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		copy_ends(out, cases[i].size, cases[i].from, strlen(cases[i].from));
		assert_string_equal(out, cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_made_fit_for_a_line),
		cmocka_unit_test(text_is_mended_in_place_and_lines_stay),
		cmocka_unit_test(of_a_long_text_the_beginning_and_the_end_are_kept),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
