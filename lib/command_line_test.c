/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of options: each kind with values that it takes and values that it refuses. */
#include "lib/command_line.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ONE = 1, TWO = 2 };

struct values {
	bool flag, yes, off;
	int choice, whole;
	const char *text, *given, *any, *path, *other;
	int64_t count, size, days;
	double fraction;
};

static int other_parse(void *options, const char *option, const char *value, struct err *err)
{
	if (strcmp(value, "bad") == 0)
		return err_set(err, EINVAL, "%s is bad", option);
	((struct values *)options)->other = value;
	return 0;
}

#define AT(member) offsetof(struct values, member)

static const struct option_row rows[] = {
	{ .help = "usage: x\n" },
	{ "--flag", NULL, OPTION_FLAG, AT(flag), .letter = 'f', .help = "a flag\nof two lines" },
	{ "--yes", NULL, OPTION_BOOL, AT(yes), .help = "a bool" },
	{ "--when", "W", OPTION_EITHER, AT(off),
	  .choices = (const char *const[]){ "on", "off", NULL } },
	{ "--choice", "C", OPTION_CHOICE, AT(choice),
	  .choices = (const char *const[]){ "a", "b", "c", NULL }, .help = "two share this" },
	{ "--text", "T", OPTION_TEXT, AT(text), .help = "" },
	{ "--given", "T", OPTION_GIVEN, AT(given), .help = "" },
	{ "--any", "T", OPTION_ANY, AT(any), .help = "" },
	{ "--path", "T", OPTION_PATH, AT(path), .help = "" },
	{ "--whole", "N", OPTION_INT, AT(whole), .min = -1, .max = 9, .only = ONE, .help = "" },
	{ "--count", "N", OPTION_COUNT, AT(count), .max = INT64_MAX, .only = TWO, .help = "" },
	{ "--size", "N", OPTION_SIZE, AT(size), .min = 1024, .help = "" },
	{ "--days", "N", OPTION_DAYS, AT(days), .max = 3, .help = "" },
	{ "--fraction", "N", OPTION_FRACTION, AT(fraction), .min = 50, .max = 1000, .help = "" },
	{ "--other-of-a-long-name", "N", OPTION_OTHER, .parse = other_parse, .help = "far right" },
};
static const struct option_table table = OPTION_TABLE(rows, 18);

static void values_go_where_the_table_says(void **state)
{
	char *words[] = { "-f",
			  "--yes=true",
			  "--when",
			  "off",
			  "--choice=c",
			  "--text",
			  "-x",
			  "--given=",
			  "--any=",
			  "--path",
			  "/p",
			  "--whole=-1",
			  "--size=2Ki",
			  "--days",
			  "0.5",
			  "--fraction=0.05",
			  "--other-of-a-long-name",
			  "o",
			  "--",
			  "--flag",
			  NULL };
	struct values v = { .given = "before", .any = "before" };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(options_take(&table, ONE, words, &v, &err), 19);
	assert_true(v.flag && v.yes && v.off && v.choice == 2 && v.whole == -1);
	assert_string_equal(v.text, "-x");
	assert_null(v.given);
	assert_string_equal(v.any, "");
	assert_string_equal(v.path, "/p");
	assert_string_equal(v.other, "o");
	assert_int_equal(v.size, 2048);
	assert_int_equal(v.days, (int64_t)43200 * 1000000000);
	assert_true(v.fraction == 0.05);
	assert_int_equal(option_take(&table, TWO,
				     (char *[]){ "--count", "9223372036854775807", NULL }, &v,
				     &err),
			 2);
	assert_int_equal(v.count, INT64_MAX);
	assert_int_equal(option_take(&table, TWO, (char *[]){ "--yes", "x", NULL }, &v, &err), 1);
	assert_int_equal(
		options_take(&table, TWO, (char *[]){ "--flag", "word", "--yes", NULL }, &v, &err),
		1);
}

static void a_wrong_option_changes_nothing_and_is_named(void **state)
{
	static const struct {
		char *words[3];
		const char *error;
	} wrong[] = {
		{ { "--bogus=1" }, "unknown option --bogus (see --help)" },
		{ { "-x" }, "unknown option -x" },
		{ { "-fx" }, "unknown option -fx" },
		{ { "--fla" }, "unknown option --fla " },
		{ { "--count", "1" }, "unknown option --count" },
		{ { "--flag=1" }, "--flag takes no value" },
		{ { "--flag=" }, "--flag takes a value" },
		{ { "--text" }, "--text takes a value" },
		{ { "--text", "" }, "--text takes a value" },
		{ { "--yes=maybe" }, "--yes takes false or true, not maybe" },
		{ { "--when", "OFF" }, "--when takes on or off, not OFF" },
		{ { "--choice", "d" }, "--choice takes a, b or c, not d" },
		{ { "--path", "p" }, "--path takes an absolute path, not p" },
		{ { "--whole", "10" }, "--whole takes a whole number from -1 to 9, not 10" },
		{ { "--whole", "1x" }, "not 1x" },
		{ { "--whole", "99999999999999999999" }, "not 99999999999999999999" },
		{ { "--size", "1" }, "--size takes at least 1.0 KiB, not 1" },
		{ { "--size", "-1Gi" }, "--size takes a size such as 512Mi or 2G, not -1Gi" },
		{ { "--days", "3.5" }, "--days takes a number from 0 to 3, not 3.5" },
		{ { "--fraction", "nan" }, "--fraction takes a number from 0.05 to 1, not nan" },
		{ { "--other-of-a-long-name", "bad" }, "--other-of-a-long-name is bad" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct values v = { 0 }, before = { 0 };
		struct err err = { 0 };

		assert_int_equal(option_take(&table, ONE, wrong[i].words, &v, &err), -EINVAL);
		if (!strstr(err_text(&err), wrong[i].error) || memcmp(&v, &before, sizeof(v)) != 0)
			fail_msg("%s: %s", wrong[i].words[0], err_text(&err));
	}
}

static void help_has_each_option_of_the_command_with_its_text_in_one_column(void **state)
{
	static const struct option_table small = { rows, 5, 18 };
	static const struct option_table wide = { rows + ARRAY_SIZE(rows) - 1, 1, 18 };
	static const struct option_row some_rows[] = {
		{ .help = "usage: one\n", .only = ONE },
		{ .help = "usage: two\n", .only = TWO },
		{ "--one", NULL, OPTION_FLAG, AT(flag), .only = ONE, .help = "of one" },
		{ "--two", NULL, OPTION_FLAG, AT(flag), .only = TWO, .help = "of two" },
	};
	static const struct option_table some = OPTION_TABLE(some_rows, 18);
	char text[1024] = "";
	int out = dup(STDOUT_FILENO), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	assert_int_equal(options_print_help(&small, 0), 0);
	assert_int_equal(options_print_help(&wide, 0), 0);
	assert_int_equal(options_print_help(&some, TWO), 0);
	dup2(out, STDOUT_FILENO);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "usage: x\n"
				  "  --flag          a flag\n"
				  "                  of two lines\n"
				  "  --yes[=BOOL]    a bool\n"
				  "  --when W, --choice C  two share this\n"
				  "  --other-of-a-long-name N\n"
				  "                  far right\n"
				  "usage: two\n"
				  "  --two           of two\n");
	close(out);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_where_the_table_says),
		cmocka_unit_test(a_wrong_option_changes_nothing_and_is_named),
		cmocka_unit_test(help_has_each_option_of_the_command_with_its_text_in_one_column),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
