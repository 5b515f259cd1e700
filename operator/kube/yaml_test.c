/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of converting YAML to JSON: types, errors with their lines, hostile documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/kube/yaml.h"

static void gives(const char *yaml, const char *expected)
{
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_free_ char *text = NULL;
	struct err err = { 0 };

	if (yaml_to_json(yaml, strlen(yaml), &json, &err) < 0)
		fail_msg("%s: %s", yaml, err.text);
	text = cJSON_PrintUnformatted(json);
	assert_string_equal(text, expected);
}

static void refused(const char *yaml, size_t len, const char *part)
{
	cJSON *json = NULL;
	struct err err = { 0 };

	assert_true(yaml_to_json(yaml, len, &json, &err) < 0);
	assert_null(json);
	if (!strstr(err.text, part))
		fail_msg("\"%s\" does not hold \"%s\"", err.text, part);
}

static void scalars_are_typed_as_in_yaml_1_2(void **state)
{
	(void)state;
	gives("a: 1\nb: -2.5\nc: true\nd: ~\ne:\nf: text\n",
	      "{\"a\":1,\"b\":-2.5,\"c\":true,\"d\":null,\"e\":null,\"f\":\"text\"}");
	gives("[yes, on, 08, 0x10, .inf, 1_0, 1e3, 4Gi, -, 1.]",
	      "[\"yes\",\"on\",\"08\",\"0x10\",\".inf\",\"1_0\",1000,\"4Gi\",\"-\",\"1.\"]");
	gives("a: \"1\"\nb: 'true'\nc: |\n  x\n  y\n",
	      "{\"a\":\"1\",\"b\":\"true\",\"c\":\"x\\ny\\n\"}");
	gives("a: 1e999", "{\"a\":\"1e999\"}");
}

static void empty_documents_are_null(void **state)
{
	(void)state;
	gives("", "null");
	gives("# nothing\n", "null");
	gives("---\n...\n", "null");
}

static void json_is_yaml(void **state)
{
	(void)state;
	gives("{\"a\": [1, {\"b\": null}], \"c\": \"d\"}", "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}");
}

static void aliases_are_resolved(void **state)
{
	(void)state;
	gives("a: &x {k: 1}\nb: *x\n", "{\"a\":{\"k\":1},\"b\":{\"k\":1}}");
}

static void refusals_name_the_line(void **state)
{
	static const struct {
		const char *yaml, *part;
	} rows[] = {
		{ "a: 1\nb: [1\n", "line 3: not YAML" },
		{ "a: 1\na: 2\n", "line 2: key \"a\" stands here a second time" },
		{ "a: 1\n---\nb: 2\n", "line 3: a second document" },
		{ "a: 1\n<<: {b: 1}\n", "line 2: merge keys" },
		{ "? [a]\n: 1\n", "line 1: a key must be text" },
		{ "a: *nobody\n", "not YAML" },
		{ "a: \"\\0\"\n", "line 1: a NUL" },
		{ "\xff\xfe\xfd", "not YAML at byte" },
		{ "a:\n\t- b", "line 2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		refused(rows[i].yaml, strlen(rows[i].yaml), rows[i].part);
}

static void a_document_that_explodes_or_eats_itself_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 20);

	(void)state;
	strbuf_adds(&sb, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 9; i++) {
		strbuf_addf(&sb, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			strbuf_addf(&sb, "*a%d,", i - 1);
		strbuf_adds(&sb, "]\n");
	}
	refused(strbuf_str(&sb), sb.len, "more than 100000 values");
	refused("&a [*a]", 7, "nested deeper");
	strbuf_reset(&sb);
	for (int i = 0; i < 900; i++)
		strbuf_addc(&sb, '[');
	for (int i = 0; i < 900; i++)
		strbuf_addc(&sb, ']');
	refused(strbuf_str(&sb), sb.len, "nested deeper");
}

static void the_line_of_a_path_is_found(void **state)
{
	const char *yaml = "a: 1\nb:\n  c: 2\n  d:\n    e: 3\n";

	(void)state;
	assert_int_equal(yaml_line(yaml, strlen(yaml), "a"), 1);
	assert_int_equal(yaml_line(yaml, strlen(yaml), "b.d.e"), 5);
	assert_int_equal(yaml_line(yaml, strlen(yaml), "b.x"), 0);
	assert_int_equal(yaml_line(yaml, strlen(yaml), "a.x"), 0);
	assert_int_equal(yaml_line("[", 1, "a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_are_typed_as_in_yaml_1_2),
		cmocka_unit_test(empty_documents_are_null),
		cmocka_unit_test(json_is_yaml),
		cmocka_unit_test(aliases_are_resolved),
		cmocka_unit_test(refusals_name_the_line),
		cmocka_unit_test(a_document_that_explodes_or_eats_itself_is_refused),
		cmocka_unit_test(the_line_of_a_path_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
