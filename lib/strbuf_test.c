/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the growing string. Linked with --wrap=realloc. */
#include "lib/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static int reallocs_until_failure = -1; /* -1: all calls succeed */

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	if (reallocs_until_failure >= 0 && reallocs_until_failure-- == 0)
		return NULL;
	return __real_realloc(p, size);
}

static void an_empty_one_reads_as_an_empty_text(void **state)
{
	struct strbuf sb = STRBUF_INIT(10);

	(void)state;
	assert_string_equal(strbuf_str(&sb), "");
	strbuf_consume(&sb, 3);
	strbuf_truncate(&sb, 0);
	strbuf_reset(&sb);
	strbuf_add(&sb, "", 0);
	assert_string_equal(strbuf_str(&sb), "");
	assert_false(strbuf_failed(&sb));
	strbuf_release(&sb);
	strbuf_release(&sb);
}

static void what_is_appended_stands_in_order(void **state)
{
	struct strbuf sb;

	(void)state;
	strbuf_init(&sb, 100000);
	strbuf_add(&sb, "a\0b", 3);
	strbuf_adds(&sb, "cd");
	strbuf_addc(&sb, 'e');
	strbuf_addf(&sb, "-%d-%s", 7, "f");
	assert_int_equal(sb.len, 10);
	assert_memory_equal(strbuf_str(&sb), "a\0bcde-7-f", 11);
	for (int i = 0; i < 10000; i++)
		strbuf_addf(&sb, "%04d", i);
	assert_int_equal(sb.len, 40010);
	assert_string_equal(strbuf_str(&sb) + 40006, "9999");
	strbuf_release(&sb);
}

static void the_ceiling_is_exact_and_passing_it_sticks(void **state)
{
	struct strbuf sb = STRBUF_INIT(5);

	(void)state;
	strbuf_adds(&sb, "12345");
	assert_false(strbuf_failed(&sb));
	strbuf_adds(&sb, "");
	assert_false(strbuf_failed(&sb));
	strbuf_addc(&sb, '6');
	assert_true(strbuf_failed(&sb));
	strbuf_consume(&sb, 3);
	strbuf_addc(&sb, '7');
	assert_string_equal(strbuf_str(&sb), "45");
	assert_null(strbuf_detach(&sb));
	strbuf_reset(&sb);
	assert_false(strbuf_failed(&sb));
	strbuf_adds(&sb, "again");
	assert_string_equal(strbuf_str(&sb), "again");
	strbuf_release(&sb);
}

static void an_append_over_the_ceiling_leaves_what_was_there(void **state)
{
	struct strbuf sb = STRBUF_INIT(8);

	(void)state;
	strbuf_adds(&sb, "keep");
	strbuf_addf(&sb, "%s", "five5");
	assert_true(strbuf_failed(&sb));
	assert_string_equal(strbuf_str(&sb), "keep");
	strbuf_release(&sb);

	sb = STRBUF_INIT(0);
	strbuf_addc(&sb, 'x');
	assert_true(strbuf_failed(&sb));
	assert_string_equal(strbuf_str(&sb), "");
	strbuf_release(&sb);
}

static void running_out_of_memory_at_any_point_sticks_and_keeps_the_text(void **state)
{
	(void)state;
	for (int n = 0; n < 12; n++) {
		struct strbuf sb = STRBUF_INIT(1 << 20);
		size_t len;

		reallocs_until_failure = n;
		for (int i = 0; i < 20000; i++)
			strbuf_addf(&sb, "%04d", i % 10000);
		reallocs_until_failure = -1;
		len = sb.len;
		if (strbuf_failed(&sb)) {
			strbuf_adds(&sb, "more");
			assert_int_equal(sb.len, len);
			assert_int_equal(strlen(strbuf_str(&sb)), len);
			assert_null(strbuf_detach(&sb));
		} else
			assert_int_equal(len, 80000);
		assert_true(len % 4 == 0);
		assert_true(n == 0 ? len == 0 : len > 0);
		strbuf_release(&sb);
	}
}

static void a_name_made_by_others_is_escaped(void **state)
{
	static const struct {
		const char *in;
		size_t len;
		const char *out;
	} rows[] = {
		{ "ray::f", 6, "ray::f" },
		{ "foo) Z ", 7, "foo) Z " },
		{ "a\nb\tc", 5, "a\\x0ab\\x09c" },
		{ "\"\\", 2, "\\x22\\x5c" },
		{ "\x1b[31m\x7f", 6, "\\x1b[31m\\x7f" },
		{ "\0\xff\xc3\xa9", 4, "\\x00\\xff\\xc3\\xa9" },
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf sb = STRBUF_INIT(100);

		strbuf_add_escaped(&sb, rows[i].in, rows[i].len);
		assert_string_equal(strbuf_str(&sb), rows[i].out);
		strbuf_release(&sb);
	}
}

static void consuming_and_truncating_never_go_beyond_the_text(void **state)
{
	struct strbuf sb = STRBUF_INIT(100);

	(void)state;
	strbuf_adds(&sb, "0123456789");
	strbuf_consume(&sb, 4);
	assert_string_equal(strbuf_str(&sb), "456789");
	strbuf_truncate(&sb, 100);
	assert_string_equal(strbuf_str(&sb), "456789");
	strbuf_truncate(&sb, 2);
	assert_string_equal(strbuf_str(&sb), "45");
	strbuf_consume(&sb, SIZE_MAX);
	assert_string_equal(strbuf_str(&sb), "");
	assert_int_equal(sb.len, 0);
	strbuf_release(&sb);
}

static void a_detached_text_is_the_callers_and_the_buffer_starts_anew(void **state)
{
	struct strbuf sb = STRBUF_INIT(100);
	char *text;

	(void)state;
	text = strbuf_detach(&sb);
	assert_string_equal(text, "");
	free(text);
	strbuf_adds(&sb, "mine");
	text = strbuf_detach(&sb);
	strbuf_adds(&sb, "other");
	assert_string_equal(text, "mine");
	assert_string_equal(strbuf_str(&sb), "other");
	assert_int_equal(sb.max, 100);
	free(text);
	strbuf_release(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_reads_as_an_empty_text),
		cmocka_unit_test(what_is_appended_stands_in_order),
		cmocka_unit_test(the_ceiling_is_exact_and_passing_it_sticks),
		cmocka_unit_test(an_append_over_the_ceiling_leaves_what_was_there),
		cmocka_unit_test(running_out_of_memory_at_any_point_sticks_and_keeps_the_text),
		cmocka_unit_test(a_name_made_by_others_is_escaped),
		cmocka_unit_test(consuming_and_truncating_never_go_beyond_the_text),
		cmocka_unit_test(a_detached_text_is_the_callers_and_the_buffer_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
