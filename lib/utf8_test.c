/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of text that may be truncated, overlong, a surrogate, a control character or beyond
 * Unicode.
 */
#include "lib/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text, *mended, *escaped;
} rows[] = {
	{ "plain", "plain", "plain" },
	{ "", "", "" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa5", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa5",
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xa5" },
	{ "cut \xf0\x9f\x92", "cut ???", "cut \\ufffd\\ufffd\\ufffd" },
	{ "\x80\xbf\xff", "???", "\\ufffd\\ufffd\\ufffd" },
	{ "overlong \xc0\xaf", "overlong ??", "overlong \\ufffd\\ufffd" },
	{ "surrogate \xed\xa0\x80", "surrogate ???", "surrogate \\ufffd\\ufffd\\ufffd" },
	{ "beyond \xf4\x90\x80\x80", "beyond ????", "beyond \\ufffd\\ufffd\\ufffd\\ufffd" },
	{ "delete \x7f", "delete ?", "delete \\u007f" },
	{ "next line \xc2\x85", "next line ??", "next line \\u0085" },
	{ "none \xef\xbf\xbe", "none ???", "none \\ufffe" },
	{ "mark \xef\xbb\xbf", "mark ???", "mark \\ufeff" },
	{ "turned \xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xae\xe2\x81\xa9\xd8\x9c",
	  "turned ??????????????", "turned \\u200e\\u200f\\u202e\\u2069\\u061c" },
	{ "separated \xe2\x80\xa8\xe2\x80\xa9", "separated ??????", "separated \\u2028\\u2029" },
};

static void what_others_would_refuse_is_mended_or_escaped(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
		char text[128];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		utf8_mend(text);
		assert_string_equal(text, rows[i].mended);
		utf8_escape_json(rows[i].text, &out);
		assert_string_equal(strbuf_str(&out), rows[i].escaped);
	}
}

static void control_characters_of_a_text_are_mended_and_blanks_of_json_stay(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	char text[] = "a\tb\n\x01";
	(void)state;

	utf8_mend(text);
	assert_string_equal(text, "a?b??");
	utf8_escape_json("{\n\t\"a\":1}", &out);
	assert_string_equal(strbuf_str(&out), "{\n\t\"a\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_others_would_refuse_is_mended_or_escaped),
		cmocka_unit_test(control_characters_of_a_text_are_mended_and_blanks_of_json_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
