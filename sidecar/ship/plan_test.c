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
	static const char text[] =
		"{\"files\":[" FILE_OF("core.python.7.zst") "," FILE_OF("logs/raylet.out") "," FILE_OF("report.html") "," FILE_OF(
			"samples.jsonl") "," FILE_OF("report.txt") "," FILE_OF("coredump") "," FILE_OF("report.json") "]}";
	static const char *const order[] = { "report.txt",    "report.json",
					     "report.html",   "logs/raylet.out",
					     "samples.jsonl", "core.python.7.zst",
					     "coredump" };
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

static struct strbuf text_of(const char *manifest)
{
	struct strbuf text = STRBUF_INIT(PLAN_MANIFEST_MAX);

	strbuf_adds(&text, manifest);
	return text;
}

#define IN_BUNDLE FILE_OF("report.txt")
#define AT(name, path) "{\"name\":\"" name "\",\"sizeBytes\":1,\"sha256\":\"" SHA "\",\"path\":\"" path "\"}"

static void cores_are_placed_below_the_prefix_and_nothing_else_is(void **state)
{
	_cleanup_strbuf_ struct strbuf text = text_of("{\"kind\":\"Manifest\",\"files\":[" IN_BUNDLE
						      "," FILE_OF("core.python.7.zst") "]}");
	char path[PLAN_PATH_MAX];
	struct plan plan;
	(void)state;

	assert_int_equal(plan_place_cores(&text, "_cores", "ml/demo/x", NULL), 0);
	assert_non_null(strstr(strbuf_str(&text), "\"kind\""));
	assert_int_equal(plan_parse(strbuf_str(&text), text.len, &plan, NULL), 0);
	assert_null(plan.items[0].path);
	assert_int_equal(plan_locate(&plan.items[0], "ml/demo/x", path, NULL), 0);
	assert_string_equal(path, "ml/demo/x/report.txt");
	assert_int_equal(plan_locate(&plan.items[1], "ml/demo/x", path, NULL), 0);
	assert_string_equal(path, "_cores/ml/demo/x/core.python.7.zst");
	plan_release(&plan);
}

static void a_manifest_stays_as_it_is_where_nothing_is_to_be_placed(void **state)
{
	static const struct {
		const char *files, *prefix;
	} rows[] = { { IN_BUNDLE, "_cores" },
		     { IN_BUNDLE "," FILE_OF("core.x.1.zst"), NULL },
		     { "", "_cores" } };
	char manifest[1000];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(manifest, sizeof(manifest), "{ \"files\" :[%s] }", rows[i].files);
		struct strbuf text = text_of(manifest);

		assert_int_equal(plan_place_cores(&text, rows[i].prefix, "x", NULL), 0);
		assert_string_equal(strbuf_str(&text), manifest);
		strbuf_release(&text);
	}
}

static void a_place_in_the_store_it_came_from_is_forgotten(void **state)
{
	_cleanup_strbuf_ struct strbuf text =
		text_of("{\"files\":[" AT("core.x.1.zst", "_old/ml/x/core.x.1.zst") "," AT(
			"a", "_old/ml/x/a\",\"path\":\"_old/ml/x/a") "]}");
	struct plan plan;
	(void)state;

	assert_int_equal(plan_place_cores(&text, NULL, "ml/y", NULL), 0);
	assert_int_equal(plan_parse(strbuf_str(&text), text.len, &plan, NULL), 0);
	assert_true(!plan.items[0].path && !plan.items[1].path);
	plan_release(&plan);
}

static void a_place_is_only_ever_one_of_the_bundle_itself(void **state)
{
	static const struct {
		const char *path;
		bool right;
	} rows[] = {
		{ "_cores/ml/x/core.p.7.zst", true },	 { "a/b/ml/x/core.p.7.zst", true },   { "ml/x/core.p.7.zst", false },
		{ "ml/y/core.p.7.zst", false },		 { "_cores/ml/y/core.p.7.zst", false }, { "_cores/ml/x/report.txt", false },
		{ "_coresml/x/core.p.7.zst", false },
	};
	char path[PLAN_PATH_MAX];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct plan_item item = { .name = (char *)"core.p.7.zst",
						.path = (char *)rows[i].path };
		struct err err = { 0 };

		assert_int_equal(plan_locate(&item, "ml/x", path, &err),
				 rows[i].right ? 0 : -EINVAL);
		if (rows[i].right)
			assert_string_equal(path, rows[i].path);
		else
			assert_non_null(strstr(err_text(&err), "is no place of this bundle"));
	}
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
		{ "{\"files\":[" AT("a", "../x/a") "]}", "starts with '.'" },
		{ "{\"files\":[" AT("a", "x/.hidden/a") "]}", "starts with '.'" },
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

static void a_browser_gets_the_type_of_each_file(void **state)
{
	(void)state;
	assert_string_equal(plan_content_type("report.html"), "text/html; charset=utf-8");
	assert_string_equal(plan_content_type("report.json"), "application/json");
	assert_string_equal(plan_content_type("logs/raylet.out"), "text/plain; charset=utf-8");
	assert_string_equal(plan_content_type("core.python.7.zst"), "application/zstd");
	assert_string_equal(plan_content_type("collected/memray-1.bin"),
			    "application/octet-stream");
	assert_string_equal(plan_content_type(".txt"), "application/octet-stream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_wanted_goes_first_and_cores_last),
		cmocka_unit_test(cores_are_placed_below_the_prefix_and_nothing_else_is),
		cmocka_unit_test(a_manifest_stays_as_it_is_where_nothing_is_to_be_placed),
		cmocka_unit_test(a_place_in_the_store_it_came_from_is_forgotten),
		cmocka_unit_test(a_place_is_only_ever_one_of_the_bundle_itself),
		cmocka_unit_test(a_manifest_that_makes_no_sense_is_refused),
		cmocka_unit_test(more_files_than_any_bundle_has_are_refused),
		cmocka_unit_test(a_browser_gets_the_type_of_each_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
