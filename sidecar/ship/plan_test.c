/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is sent, and in which order. */
#include "sidecar/ship/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/strbuf.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_OF(name) "{\"name\":\"" name "\",\"sizeBytes\":1,\"sha256\":\"" SHA "\"}"

static void the_most_wanted_goes_first_and_cores_last(void **state)
{
	static const char text[] = "{\"files\":[" FILE_OF("core.python.7.zst") "," FILE_OF("logs/raylet.out") "," FILE_OF(
		"report.html") "," FILE_OF("samples.jsonl") "," FILE_OF("report.txt") "," FILE_OF("coredump") "," FILE_OF("report.json") "]}";
	static const char *const order[] = { "report.txt",    "report.json",	   "report.html", "logs/raylet.out",
					     "samples.jsonl", "core.python.7.zst", "coredump" };
	struct plan plan;
	(void)state;

	assert_int_equal(plan_parse(text, strlen(text), &plan, NULL), 0);
	assert_int_equal(plan.n, ARRAY_SIZE(order));
	for (size_t i = 0; i < plan.n; i++)
		assert_string_equal(plan.items[i].name, order[i]);
	assert_string_equal(plan.items[0].sha256, SHA);
	assert_int_equal(plan.items[0].size, 1);
	plan_release(&plan);
}

static void a_manifest_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "MANIFEST.json" },
		{ "[]", "no list" },
		{ "{\"files\":7}", "no list" },
		{ "{\"files\":[7]}", "without a name" },
		{ "{\"files\":[" FILE_OF("../x") "]}", "starts with '.'" },
		{ "{\"files\":[" FILE_OF("/etc/passwd") "]}", "starts with '.'" },
		{ "{\"files\":[" FILE_OF(".ship") "]}", "starts with '.'" },
		{ "{\"files\":[" FILE_OF("a\\u000ab") "]}", "control characters" },
		{ "{\"files\":[" FILE_OF("MANIFEST.json") "]}", "lists itself" },
		{ "{\"files\":[" FILE_OF("a") "," FILE_OF("a") "]}", "listed twice" },
		{ "{\"files\":[{\"name\":\"a\",\"sizeBytes\":-1,\"sha256\":\"" SHA "\"}]}", "no size" },
		{ "{\"files\":[{\"name\":\"a\",\"sizeBytes\":1e99,\"sha256\":\"" SHA "\"}]}", "no size" },
		{ "{\"files\":[{\"name\":\"a\",\"sizeBytes\":\"1\",\"sha256\":\"" SHA "\"}]}", "no size" },
		{ "{\"files\":[{\"name\":\"a\",\"sizeBytes\":1,\"sha256\":\"ABCD\"}]}", "no SHA-256" },
		{ "{\"files\":[{\"name\":\"a\",\"sizeBytes\":1}]}", "no SHA-256" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct plan plan;
		struct err err = { 0 };

		assert_true(plan_parse(rows[i].text, strlen(rows[i].text), &plan, &err) < 0);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void more_files_than_any_bundle_has_are_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	struct plan plan;
	(void)state;

	strbuf_adds(&text, "{\"files\":[1");
	for (int i = 0; i < PLAN_FILES_MAX; i++)
		strbuf_adds(&text, ",1");
	strbuf_adds(&text, "]}");
	assert_int_equal(plan_parse(strbuf_str(&text), text.len, &plan, NULL), -EFBIG);
}

static void a_browser_is_told_what_to_show(void **state)
{
	(void)state;
	assert_string_equal(plan_content_type("report.html"), "text/html; charset=utf-8");
	assert_string_equal(plan_content_type("report.json"), "application/json");
	assert_string_equal(plan_content_type("logs/raylet.out"), "text/plain; charset=utf-8");
	assert_string_equal(plan_content_type("core.python.7.zst"), "application/zstd");
	assert_string_equal(plan_content_type("collected/memray-1.bin"), "application/octet-stream");
	assert_string_equal(plan_content_type(".txt"), "application/octet-stream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_wanted_goes_first_and_cores_last),
		cmocka_unit_test(a_manifest_that_makes_no_sense_is_refused),
		cmocka_unit_test(more_files_than_any_bundle_has_are_refused),
		cmocka_unit_test(a_browser_is_told_what_to_show),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
