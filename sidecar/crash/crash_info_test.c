/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/crash/crash_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void a_summary_gives_frame_fault_and_python(void **state)
{
	struct crash_info info = { .known = true, .pid = 7, .comm = "python3" };
	char where[400];

	(void)state;
	assert_int_equal(
		crash_info_of_summary(
			"{\"signal\":11,\"code\":\"SEGV_MAPERR\",\"faultAddress\":\"0x0\",\"pid\":99,\"tid\":8,"
			"\"comm\":\"other\",\"executable\":\"/usr/bin/python3\",\"threads\":9,\"crashedFrame\":{"
			"\"function\":\"deref_null\",\"module\":\"/x/boom.so\",\"offset\":\"0x1139\",\"buildId\":\"ab\","
			"\"source\":\"boom.cc:12\"},\"python\":\"crash.py:12 in f\",\"truncated\":true,\"coreCut\":true}",
			"SIGSEGV at address 0x0 in deref_null (boom.so)\nThread 8\n", &info, NULL),
		0);
	assert_true(info.unwound && info.cut);
	/* What the core itself said is kept. */
	assert_int_equal(info.pid, 7);
	assert_string_equal(info.comm, "python3");
	assert_int_equal(info.tid, 8);
	assert_int_equal(info.signal, 11);
	assert_int_equal(info.threads, 9);
	assert_string_equal(info.python, "crash.py:12 in f");
	assert_string_equal(info.sentence, "SIGSEGV at address 0x0 in deref_null (boom.so)");
	assert_string_equal(crash_info_where(&info, where, sizeof(where)), "deref_null (boom.so)");
	info.function[0] = '\0';
	assert_string_equal(crash_info_where(&info, where, sizeof(where)), "boom.so+0x1139");
	info.module[0] = '\0';
	assert_string_equal(crash_info_where(&info, where, sizeof(where)), "");
}

static void a_summary_gives_who_sent_the_signal(void **state)
{
	struct crash_info info = { .known = true };

	(void)state;
	assert_int_equal(crash_info_of_summary("{\"signal\":11,\"sentBy\":0}", "", &info, NULL), 0);
	assert_true(info.sent);
	assert_int_equal(info.sender, 0);
	assert_int_equal(crash_info_of_summary("{\"signal\":11,\"sentBy\":77}", "", &info, NULL),
			 0);
	assert_int_equal(info.sender, 77);
	assert_int_equal(crash_info_of_summary("{\"signal\":11}", "", &info, NULL), 0);
	assert_false(info.sent);
}

static void a_summary_gives_what_the_c_library_wrote(void **state)
{
	struct crash_info info = { .known = true };

	(void)state;
	assert_int_equal(crash_info_of_summary("{\"signal\":6,\"message\":\"free(): \\u001b[1m\"}",
					       "", &info, NULL),
			 0);
	assert_string_equal(info.message, "free(): ?[1m");
	assert_int_equal(crash_info_of_summary("{\"signal\":6,\"message\":null}", "", &info, NULL),
			 0);
	assert_string_equal(info.message, "");
}

static void a_backtrace_that_is_cut_is_no_core_that_is(void **state)
{
	struct crash_info info = { .known = true };

	(void)state;
	assert_int_equal(
		crash_info_of_summary("{\"signal\":11,\"truncated\":true,\"coreCut\":false}",
				      "text", &info, NULL),
		0);
	assert_true(info.unwound && !info.cut);
	assert_int_equal(
		crash_info_of_summary("{\"signal\":11,\"truncated\":true}", "text", &info, NULL),
		0);
	assert_false(info.cut);
	/* What the core's own headers said is kept. */
	info.cut = true;
	assert_int_equal(crash_info_of_summary("{\"coreCut\":false}", "text", &info, NULL), 0);
	assert_true(info.cut);
}

static void what_is_no_summary_changes_nothing(void **state)
{
	static const char *const bad[] = { "", "x", "[]", "7", "{\"signal\":", "\"{}\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct crash_info info = { .known = true, .signal = 6 }, before = info;

		assert_true(crash_info_of_summary(bad[i], "text", &info, NULL) < 0);
		assert_memory_equal(&info, &before, sizeof(info));
	}
}

static void hostile_texts_are_bounded_and_printable(void **state)
{
	struct crash_info info = { .known = true };
	char json[4096], function[2048];

	(void)state;
	memset(function, 'f', sizeof(function) - 1);
	function[sizeof(function) - 1] = '\0';
	snprintf(
		json, sizeof(json),
		"{\"signal\":1e300,\"pid\":-5,\"tid\":4294967296,\"threads\":1e18,\"crashedFrame\":{\"function\":\"%s\","
		"\"module\":\"/a\\u001b[31m\\n/b\",\"offset\":7},\"python\":[1],\"comm\":\"\\u0007bell\"}",
		function);
	assert_int_equal(crash_info_of_summary(json, "\x1b[31mred\x7f", &info, NULL), 0);
	assert_int_equal(info.signal, 0);
	assert_int_equal(info.pid, 0);
	assert_int_equal(info.tid, 0);
	assert_int_equal(info.threads, 0);
	assert_int_equal(strlen(info.function), sizeof(info.function) - 1);
	assert_string_equal(info.module, "/a?[31m");
	assert_string_equal(info.offset, "");
	assert_string_equal(info.python, "");
	assert_string_equal(info.comm, "?bell");
	assert_string_equal(info.sentence, "?[31mred?");
}

static void a_text_is_not_cut_within_a_character(void **state)
{
	struct crash_info info = { .known = true };
	char json[600] = "{\"crashedFrame\":{\"function\":\"";
	size_t n = strlen(json);

	(void)state;
	json[n++] = 'x'; /* so that the limit falls between the two bytes of a character */
	while (n < 400) {
		json[n++] = '\xc3';
		json[n++] = '\xa4';
	}
	snprintf(json + n, sizeof(json) - n, "\"}}");
	assert_int_equal(crash_info_of_summary(json, "", &info, NULL), 0);
	n = strlen(info.function);
	assert_true(n >= sizeof(info.function) - 3);
	assert_int_equal((unsigned char)info.function[n - 1], 0xa4);
}

static void a_core_is_called_after_its_process(void **state)
{
	struct crash_info info = { .pid = 12, .comm = "ray::f/../x" };

	(void)state;
	crash_info_name_core(&info);
	assert_string_equal(info.core_file, "core.ray__f_.._x.12.zst");
	info.comm[0] = '\0';
	crash_info_name_core(&info);
	assert_string_equal(info.core_file, "core.unknown.12.zst");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_summary_gives_frame_fault_and_python),
		cmocka_unit_test(a_summary_gives_who_sent_the_signal),
		cmocka_unit_test(a_summary_gives_what_the_c_library_wrote),
		cmocka_unit_test(a_backtrace_that_is_cut_is_no_core_that_is),
		cmocka_unit_test(what_is_no_summary_changes_nothing),
		cmocka_unit_test(hostile_texts_are_bounded_and_printable),
		cmocka_unit_test(a_text_is_not_cut_within_a_character),
		cmocka_unit_test(a_core_is_called_after_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
