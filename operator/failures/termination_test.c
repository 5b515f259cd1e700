/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the termination message: a valid one is accepted, and hostile ones lose their invalid
 * parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/failures/termination.h"

static int parse(const char *text, cJSON **ret_json)
{
	struct err err = { 0 };

	return termination_parse(text, strlen(text), ret_json, &err);
}

static void takes_json(const char *line, const char *expected)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_free_ char *text = NULL;

	strbuf_addf(&sb, "text\n#afterglow/1 %s\n", line);
	if (parse(strbuf_str(&sb), &json) < 0)
		fail_msg("%s: not parsed", line);
	text = cJSON_PrintUnformatted(json);
	assert_string_equal(text, expected);
}

static void a_whole_report_is_taken_over(void **state)
{
	static const char line[] =
		"{\"class\":\"KernelOOMContainer\",\"confidence\":\"certain\",\"sentence\":\"It was killed.\",\"exitCode\":137,"
		"\"signal\":\"SIGKILL\",\"startedAt\":\"2026-11-21T01:24:54.000Z\",\"endedAt\":\"2026-11-21T01:29:06.324Z\","
		"\"bundle\":\"pvc:c/ns/x\",\"memory\":{\"limitBytes\":1073741824,\"usageBytes\":1073741824},"
		"\"processes\":[{\"pid\":162,\"rssBytes\":5,\"sharedBytes\":1,\"growthBytesPerSecond\":-3,\"name\":\"ray::f\"}],"
		"\"evidence\":[{\"source\":\"memory.events\",\"text\":\"oom_group_kill 0 -> 1\"}],"
		"\"missing\":[{\"what\":\"kernel log\",\"needs\":\"CAP_SYSLOG\"}],\"final\":true}";

	(void)state;
	takes_json(line, line);
}

static void what_is_wrong_is_dropped(void **state)
{
	static const struct {
		const char *line, *expected;
	} rows[] = {
		{ "{}", "{\"final\":false}" },
		{ "{\"final\":\"true\"}", "{\"final\":false}" },
		{ "{\"class\":\"Murder\",\"confidence\":\"very\"}", "{\"final\":false}" },
		{ "{\"class\":null,\"exitCode\":null,\"memory\":null,\"processes\":null}",
		  "{\"final\":false}" },
		{ "{\"exitCode\":\"137\"}", "{\"final\":false}" },
		{ "{\"exitCode\":-1}", "{\"final\":false}" },
		{ "{\"exitCode\":1e300}", "{\"final\":false}" },
		{ "{\"exitCode\":1.9}", "{\"exitCode\":1,\"final\":false}" },
		{ "{\"signal\":\"SIGLOL\"}", "{\"final\":false}" },
		{ "{\"startedAt\":\"yesterday\",\"endedAt\":\"2026-13-41T01:29:06Z\"}", "{\"final\":false}" },
		{ "{\"memory\":{\"limitBytes\":-5,\"usageBytes\":\"1\",\"evil\":1}}",
		  "{\"memory\":{},\"final\":false}" },
		{ "{\"memory\":[1]}", "{\"final\":false}" },
		{ "{\"processes\":[1,null,{},{\"pid\":1},{\"evil\":2}]}",
		  "{\"processes\":[{\"pid\":1}],\"final\":false}" },
		{ "{\"evidence\":{\"source\":\"x\"}}", "{\"final\":false}" },
		{ "{\"missing\":[{\"needs\":\"x\"},{\"what\":\"y\"}],\"evidence\":[{\"source\":\"x\"}]}",
		  "{\"evidence\":[],\"missing\":[{\"what\":\"y\"}],\"final\":false}" },
		{ "{\"sentence\":\"a\\u001b[31mb\\nc\\u009bd\"}",
		  "{\"sentence\":\"a?[31mb?c??d\",\"final\":false}" },
		{ "{\"class\":\"Killed\",\"signature\":\"v1:Killed:ray::f:x\"}",
		  "{\"class\":\"Killed\",\"signature\":\"v1:Killed:ray::f:x\",\"final\":false}" },
		{ "{\"class\":\"Killed\",\"signature\":\"v1:Segfault:ray::f:x\"}", "{\"class\":\"Killed\",\"final\":false}" },
		{ "{\"class\":\"Killed\",\"signature\":\"v1:Killed:a\\u001b[31m:x\"}", "{\"class\":\"Killed\",\"final\":false}" },
		{ "{\"class\":\"Killed\",\"signature\":[\"v1:Killed:a:x\"]}", "{\"class\":\"Killed\",\"final\":false}" },
		{ "{\"unknown\":{\"deep\":[1]},\"final\":true}", "{\"final\":true}" },
		{ "{\"Final\":true,\"CLASS\":\"Killed\"}", "{\"final\":false}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		takes_json(rows[i].line, rows[i].expected);
}

static void lists_and_texts_are_cut(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *json = NULL;

	(void)state;
	strbuf_adds(&sb, "#afterglow/1 {\"sentence\":\"x");
	for (int i = 0; i < 400; i++)
		strbuf_adds(&sb, "\xc3\xa4");
	strbuf_adds(
		&sb,
		"\",\"processes\":[{\"pid\":1},{\"pid\":2},{\"pid\":3},{\"pid\":4},{\"pid\":5},{\"pid\":6}],\"evidence\":[");
	for (int i = 0; i < 40; i++)
		strbuf_addf(&sb, "%s{\"text\":\"t\"}", i ? "," : "");
	strbuf_adds(&sb, "]}");
	assert_int_equal(parse(strbuf_str(&sb), &json), 0);
	/* 512 would cut the last character */
	assert_int_equal(strlen(json_str(json, "sentence")), 511);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "processes")), 5);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "evidence")), 16);
}

static void only_the_last_marked_line_counts(void **state)
{
	_cleanup_json_ cJSON *json = NULL;

	(void)state;
	assert_int_equal(
		parse("#afterglow/1 {\"exitCode\":1}\n#afterglow/1 {\"exitCode\":2}\ntrailing\n",
		      &json),
		0);
	assert_int_equal(json_int(json, "exitCode", 0), 2);
}

static void what_is_no_report_is_refused(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{ "", -ENOENT },
		{ "OOMKilled", -ENOENT },
		{ "x #afterglow/1 {}", -ENOENT },
		{ "#afterglow/2 {}", -ENOENT },
		{ "#afterglow/1 ", -ENOENT },
		{ "#afterglow/1 {", -EPROTO },
		{ "#afterglow/1 []", -EPROTO },
		{ "#afterglow/1 {} x", -EPROTO },
		{ "#afterglow/1 {\"class\":\"Kil", -EPROTO },
	};
	_cleanup_strbuf_ struct strbuf deep = STRBUF_INIT(1 << 16);
	cJSON *json = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (parse(rows[i].text, &json) != rows[i].r)
			fail_msg("row %zu", i);
	strbuf_adds(&deep, "#afterglow/1 ");
	for (int i = 0; i < 10000; i++)
		strbuf_addc(&deep, '[');
	assert_int_equal(parse(strbuf_str(&deep), &json), -EPROTO);
	for (int i = 0; i < 10000; i++)
		strbuf_addc(&deep, ' ');
	assert_int_equal(parse(strbuf_str(&deep), &json), -EPROTO);
	assert_null(json);
}

static void tame_text_fits_any_buffer(void **state)
{
	char buf[16];

	(void)state;
	for (size_t size = 1; size <= sizeof(buf); size++) {
		text_tame("\xe2\x82\xac\xe2\x82\xac\xc2\x85\xe2\x82\xac\x7f", buf, size);
		assert_true(strlen(buf) < size);
	}
	assert_string_equal(buf, "\xe2\x82\xac\xe2\x82\xac??\xe2\x82\xac?");
	text_tame("a\xe2\x80\xae" "b\xd8\x9c", buf, sizeof(buf));
	assert_string_equal(buf, "a???b??");
	text_tame("\xe2\x82\xac\xe2\x82\xac", buf, 5);
	assert_string_equal(buf, "\xe2\x82\xac");
	text_tame("\xc2", buf, sizeof(buf));
	assert_string_equal(buf, "?");
	text_tame("", buf, sizeof(buf));
	assert_string_equal(buf, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_report_is_taken_over),
		cmocka_unit_test(what_is_wrong_is_dropped),
		cmocka_unit_test(lists_and_texts_are_cut),
		cmocka_unit_test(only_the_last_marked_line_counts),
		cmocka_unit_test(what_is_no_report_is_refused),
		cmocka_unit_test(tame_text_fits_any_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
