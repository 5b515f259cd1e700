/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading and building JSON. */
#include "lib/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>

#include "lib/strbuf.h"

static cJSON *parsed(const char *text)
{
	struct err err = { 0 };
	cJSON *json = NULL;

	if (json_parse(text, strlen(text), &json, &err) < 0)
		fail_msg("%s: %s", text, err_text(&err));
	return json;
}

static void values_are_found_by_their_path(void **state)
{
	_cleanup_json_ cJSON *json =
		parsed("{\"a\":{\"b\":{\"c\":\"deep\",\"n\":7,\"t\":true}},\"\":{\"\":1}}");

	(void)state;
	assert_string_equal(json_str(json, "a.b.c"), "deep");
	assert_int_equal(json_int(json, "a.b.n", -1), 7);
	assert_true(json_bool(json, "a.b.t", false));
	assert_ptr_equal(json_get(json, ""), json);
	assert_null(json_get(json, "a.x.c"));
	assert_null(json_get(json, "a.b.c.d"));
	assert_null(json_get(json, "A.b"));
	assert_null(json_get(NULL, "a"));
	assert_true(json_is(json, "a.b.c", "deep"));
	assert_false(json_is(json, "a.b.c", "dee"));
	assert_false(json_is(json, "a.b.c", NULL));
	assert_false(json_is(json, "a.b.n", "7"));
	assert_false(json_is(NULL, "a.b.c", "deep"));
}

static void a_value_of_another_type_counts_as_absent(void **state)
{
	_cleanup_json_ cJSON *json =
		parsed("{\"s\":\"7\",\"n\":7,\"o\":{},\"l\":[1],\"z\":null,\"f\":false}");
	static const char *const not_text[] = { "n", "o", "l", "z", "f", "absent" };
	static const char *const not_number[] = { "s", "o", "l", "z", "f", "absent" };
	static const char *const not_bool[] = { "s", "n", "o", "l", "z", "absent" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(not_text); i++) {
		assert_null(json_str(json, not_text[i]));
		assert_int_equal(json_int(json, not_number[i], -5), -5);
		assert_true(json_bool(json, not_bool[i], true));
	}
	assert_false(json_bool(json, "f", true));
	assert_null(json_get(json, "l.0"));
	assert_null(json_get(json, "s.length"));
}

static void numbers_are_cut_to_what_an_integer_holds(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{ "{\"n\":1e999}", INT64_MAX },
		{ "{\"n\":-1e999}", INT64_MIN },
		{ "{\"n\":9223372036854775807}", INT64_MAX },
		{ "{\"n\":-9223372036854775808}", INT64_MIN },
		{ "{\"n\":9007199254740991}", 9007199254740991 },
		{ "{\"n\":2.9}", 2 },
		{ "{\"n\":-2.9}", -2 },
		{ "{\"n\":-0}", 0 },
		{ "{\"n\":1e-400}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *json = parsed(rows[i].text);

		assert_int_equal(json_int(json, "n", 77), rows[i].value);
	}
}

static void a_field_name_of_any_length_in_a_path_is_safe(void **state)
{
	_cleanup_json_ cJSON *json = parsed("{\"a\":1}");
	char path[4096];

	(void)state;
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_null(json_get(json, path));
	for (size_t i = 1; i < sizeof(path) - 1; i += 2)
		path[i] = '.';
	assert_null(json_get(json, path));
}

static void what_is_not_json_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "line 1, column 1" },
		{ " ", "line 1" },
		{ "{", "line 1" },
		{ "{\"a\":1,}", "line 1, column 8" },
		{ "{\n\"a\":\n x}", "line 3, column 2" },
		{ "{} {}", "line 1, column 4" },
		{ "nul", "line 1" },
		{ "\"open", "line 1" },
		{ "\"\\ud800\"", "line 1" },
		{ "[1,2", "line 1" },
		{ "{\"a\":1}x", "line 1, column 8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		cJSON *json = NULL;

		if (json_parse(rows[i].text, strlen(rows[i].text), &json, &err) != -EPROTO)
			fail_msg("\"%s\" was taken", rows[i].text);
		assert_null(json);
		if (!strstr(err_text(&err), rows[i].says))
			fail_msg("\"%s\": %s", rows[i].text, err_text(&err));
	}
}

static void a_text_is_read_to_its_length_and_not_further(void **state)
{
	char text[] = { '[', '1', ',', '2', ']', 'X' };
	cJSON *json = NULL;

	(void)state;
	assert_int_equal(json_parse(text, 5, &json, NULL), 0);
	assert_int_equal(cJSON_GetArraySize(json), 2);
	cJSON_Delete(json);
	for (size_t len = 0; len < 5; len++)
		assert_int_equal(json_parse(text, len, &json, NULL), -EPROTO);
	/* A caller may pass the terminating NUL along. */
	assert_int_equal(json_parse("[1] \n", 6, &json, NULL), 0);
	cJSON_Delete(json);
}

static void nesting_is_limited(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	cJSON *json = NULL;

	(void)state;
	for (int i = 0; i < 100000; i++)
		strbuf_addc(&text, '[');
	assert_int_equal(json_parse(strbuf_str(&text), text.len, &json, NULL), -EPROTO);
}

static void an_element_is_found_by_a_field(void **state)
{
	_cleanup_json_ cJSON *json = parsed(
		"{\"l\":[1,null,{\"name\":7},{},{\"name\":\"x\",\"v\":1},{\"name\":\"x\",\"v\":2}]}");

	(void)state;
	assert_int_equal(json_int(json_find(json_get(json, "l"), "name", "x"), "v", -1), 1);
	assert_null(json_find(json_get(json, "l"), "name", "y"));
	assert_null(json_find(json_get(json, "absent"), "name", "x"));
	assert_null(json_find(json, "name", "x"));
}

static void setting_replaces_and_making_keeps_what_fits(void **state)
{
	_cleanup_json_ cJSON *json = parsed("{\"o\":{\"k\":1},\"s\":\"text\"}");
	char *text;

	(void)state;
	assert_int_equal(json_int(json_object_at(json, "o"), "k", -1), 1);
	json_set_int(json_object_at(json, "s"), "n", 2);
	json_set_int(json_array_at(json, "o"), "ignored", 3);
	json_set_str(json, "t", "a\"b");
	json_set_str(json, "t", NULL);
	json_set_int(json, "big", INT64_C(1) << 53);
	text = cJSON_PrintUnformatted(json);
	assert_true(cJSON_IsArray(json_get(json, "o")));
	assert_int_equal(json_int(json, "s.n", -1), 2);
	assert_true(cJSON_IsNull(json_get(json, "t")));
	assert_int_equal(json_int(json, "big", -1), INT64_C(1) << 53);
	assert_int_equal(cJSON_GetArraySize(json), 4);
	cJSON_free(text);
}

static void only_arrays_take_elements(void **state)
{
	_cleanup_json_ cJSON *object = cJSON_Parse("{\"a\":1}"), *array = cJSON_Parse("[1]");

	(void)state;
	json_append(object, cJSON_CreateTrue());
	json_append(object->child, cJSON_CreateTrue());
	json_append(NULL, cJSON_CreateTrue());
	json_append(array, cJSON_CreateTrue());
	assert_int_equal(cJSON_GetArraySize(object), 1);
	assert_null(object->child->child);
	assert_int_equal(cJSON_GetArraySize(array), 2);
}

/* --- Failed allocations --- */

static long allocations_until_failure, live;

static void *failing_malloc(size_t size)
{
	void *p;

	if (allocations_until_failure-- == 0)
		return NULL;
	p = malloc(size);
	live += p != NULL;
	return p;
}

static void counting_free(void *p)
{
	live -= p != NULL;
	free(p);
}

static void running_out_of_memory_at_any_point_neither_leaks_nor_crashes(void **state)
{
	static const char text[] = "{\"o\":{\"k\":[1,2,{\"x\":\"y\"}]},\"s\":\"text\"}";
	cJSON_Hooks hooks = { failing_malloc, counting_free };
	bool whole = false;

	(void)state;
	cJSON_InitHooks(&hooks);
	for (long n = 0; !whole && n < 200; n++) {
		cJSON *json = NULL, *at;

		allocations_until_failure = n;
		live = 0;
		if (json_parse(text, sizeof(text) - 1, &json, NULL) == 0) {
			at = json_object_at(json, "o");
			assert_ptr_equal(at, json_get(json, "o"));
			at = json_object_at(json, "new");
			assert_ptr_equal(at, json_get(json, "new"));
			at = json_array_at(json, "s");
			assert_true(!at || at == json_get(json, "s"));
			json_set_str(json, "t", "value");
			json_set_str(json, "t", "other");
			json_set_int(json, "n", 5);
			whole = json_int(json, "n", -1) == 5 && cJSON_IsArray(at) &&
				allocations_until_failure > 0;
		}
		cJSON_Delete(json);
		assert_int_equal(live, 0);
	}
	cJSON_InitHooks(NULL);
	assert_true(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found_by_their_path),
		cmocka_unit_test(a_value_of_another_type_counts_as_absent),
		cmocka_unit_test(numbers_are_cut_to_what_an_integer_holds),
		cmocka_unit_test(a_field_name_of_any_length_in_a_path_is_safe),
		cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
		cmocka_unit_test(a_text_is_read_to_its_length_and_not_further),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(an_element_is_found_by_a_field),
		cmocka_unit_test(setting_replaces_and_making_keeps_what_fits),
		cmocka_unit_test(only_arrays_take_elements),
		cmocka_unit_test(running_out_of_memory_at_any_point_neither_leaks_nor_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
