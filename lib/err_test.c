/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of errors as values. */
#include "lib/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

static void the_text_ends_in_the_words_of_the_errno(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(err_set(&err, ENOENT, "open %s", "/x"), -ENOENT);
	assert_int_equal(err.code, ENOENT);
	assert_string_equal(err_text(&err), "open /x: No such file or directory");
}

static void invalid_and_protocol_errors_say_only_what_the_caller_says(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(err_set(&err, EINVAL, "no number"), -EINVAL);
	assert_string_equal(err_text(&err), "no number");
	assert_int_equal(err_set(&err, EPROTO, "not JSON"), -EPROTO);
	assert_string_equal(err_text(&err), "not JSON");
}

static void a_code_that_is_no_errno_counts_as_invalid(void **state)
{
	static const int codes[] = { 0, -1, -ENOENT, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct err err = { 0 };

		assert_int_equal(err_set(&err, codes[i], "text"), -EINVAL);
		assert_int_equal(err.code, EINVAL);
	}
}

static void wrapping_puts_the_prefix_before_and_keeps_the_code(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, ENOSPC, "write");
	assert_int_equal(err_wrap(&err, "%s.json", "report"), -ENOSPC);
	assert_int_equal(err_wrap(&err, "bundle"), -ENOSPC);
	assert_string_equal(err_text(&err), "bundle: report.json: write: No space left on device");
}

static void long_texts_are_cut_and_stay_terminated(void **state)
{
	struct err err = { 0 };
	char name[2 * ERR_TEXT_MAX];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(err_set(&err, ENOENT, "open %s", name), -ENOENT);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_int_equal(err_wrap(&err, "%s", "store"), -ENOENT);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(err.text, "store: open xxx", 15);
	assert_int_equal(err_wrap(&err, "%s", name), -ENOENT);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
	/* The name leaves room for the text, but none for strerror's words. */
	name[ERR_TEXT_MAX - 1] = '\0';
	assert_int_equal(err_set(&err, ENOENT, "%s", name), -ENOENT);
	assert_string_equal(err.text, name);
}

static void percent_signs_in_names_are_only_text(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, EINVAL, "%s", "100%s%n");
	err_wrap(&err, "%s", "%d");
	assert_string_equal(err_text(&err), "%d: 100%s%n");
}

static void without_a_place_for_the_text_the_code_is_returned(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ENOMEM, "x"), -ENOMEM);
	assert_int_equal(err_wrap(NULL, "x"), -EIO);
}

static void before_any_error_the_text_says_so(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_string_equal(err_text(&err), "no error");
	assert_string_equal(err_text(NULL), "no error");
	assert_int_equal(err_wrap(&err, "too early"), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_ends_in_the_words_of_the_errno),
		cmocka_unit_test(invalid_and_protocol_errors_say_only_what_the_caller_says),
		cmocka_unit_test(a_code_that_is_no_errno_counts_as_invalid),
		cmocka_unit_test(wrapping_puts_the_prefix_before_and_keeps_the_code),
		cmocka_unit_test(long_texts_are_cut_and_stay_terminated),
		cmocka_unit_test(percent_signs_in_names_are_only_text),
		cmocka_unit_test(without_a_place_for_the_text_the_code_is_returned),
		cmocka_unit_test(before_any_error_the_text_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
