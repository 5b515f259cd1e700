/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of making a JSON Patch from two JSON documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "operator/raycluster/testing.h"
#include "operator/webhook/json_patch.h"

static void check(const char *before, const char *after, const char *wanted)
{
	_cleanup_json_ cJSON *a = json_of(before), *b = json_of(after), *patch = NULL;
	_cleanup_free_ char *text = NULL;
	struct err err = { 0 };

	assert_int_equal(json_patch_diff(a, b, &patch, &err), 0);
	text = cJSON_PrintUnformatted(patch);
	assert_string_equal(text, wanted);
}

static void equal_documents_need_no_operation(void **state)
{
	(void)state;
	check("{a: [1, {b: c}], d: null}", "{a: [1, {b: c}], d: null}", "[]");
	check("{a: 1, b: 2}", "{b: 2, a: 1}", "[]");
}

static void what_is_new_is_added_and_what_differs_is_replaced(void **state)
{
	(void)state;
	check("{a: {b: 1}}", "{a: {b: 2, c: {d: x}}}",
	      "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":2},{\"op\":\"add\",\"path\":\"/a/c\",\"value\":{\"d\":\"x\"}}]");
	check("{a: [1]}", "{a: {b: 1}}",
	      "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{\"b\":1}}]");
	check("{a: null}", "{a: {}}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{}}]");
}

static void what_an_array_has_more_is_appended_and_nothing_is_moved(void **state)
{
	(void)state;
	check("{c: [{n: ray, a: [x]}]}", "{c: [{n: ray, a: [x, y]}, {n: new}, 3]}",
	      "[{\"op\":\"add\",\"path\":\"/c/0/a/-\",\"value\":\"y\"},{\"op\":\"add\",\"path\":\"/c/-\",\"value\":{\"n\":\"new\"}},"
	      "{\"op\":\"add\",\"path\":\"/c/-\",\"value\":3}]");
}

static void what_is_gone_is_removed(void **state)
{
	(void)state;
	check("{a: 1, b: 2, c: 3}", "{b: 2}",
	      "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"remove\",\"path\":\"/c\"}]");
	check("{a: 1, b: 2}", "{a: 1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]");
	check("{a: {x: 1, y: 2}, b: 3}", "{b: 3, a: {x: 1}}",
	      "[{\"op\":\"remove\",\"path\":\"/a/y\"}]");
	check("{a: 1, b: 2}", "{c: 3, a: 1}",
	      "[{\"op\":\"add\",\"path\":\"/c\",\"value\":3},{\"op\":\"remove\",\"path\":\"/b\"}]");
	check("{a: [1, 2, 3]}", "{a: [1]}",
	      "[{\"op\":\"remove\",\"path\":\"/a/1\"},{\"op\":\"remove\",\"path\":\"/a/1\"}]");
}

static void names_with_slashes_and_tildes_are_escaped(void **state)
{
	(void)state;
	check("{m: {}}", "{m: {\"a.b/c~d\": x}}",
	      "[{\"op\":\"add\",\"path\":\"/m/a.b~1c~0d\",\"value\":\"x\"}]");
}

static void each_operation_has_a_path_of_its_own(void **state)
{
	(void)state;
	check("{a: [{b: [1, {c: 2}]}, 3], d: 4}", "{a: [{b: [1, {c: 5}]}, 6], d: 7}",
	      "[{\"op\":\"replace\",\"path\":\"/a/0/b/1/c\",\"value\":5},{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":6},"
	      "{\"op\":\"replace\",\"path\":\"/d\",\"value\":7}]");
	check("[1]", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]");
}

static void a_path_that_is_too_long_is_an_error(void **state)
{
	_cleanup_json_ cJSON *before = cJSON_CreateObject(), *after = cJSON_CreateObject(),
			     *patch = NULL;
	struct err err = { 0 };
	char name[JSON_PATCH_PATH_MAX + 1];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	json_set_str(after, name, "v");
	assert_true(json_patch_diff(before, after, &patch, &err) < 0);
	assert_null(patch);
}

static void forty_thousand_members_take_no_longer_than_their_number(void **state)
{
	_cleanup_json_ cJSON *before = cJSON_CreateObject(), *after = NULL, *patch = NULL;
	struct err err = { 0 };
	cJSON *last = NULL;
	char name[16];

	(void)state;
	/*
	 * The items are linked by hand, because cJSON walks the list to append an item with a name.
	 */
	for (int i = 0; i < 40000; i++) {
		cJSON *item = cJSON_CreateNumber(i);
		snprintf(name, sizeof(name), "m%d", i);
		item->string = strdup(name);
		item->prev = last;
		if (last)
			last->next = item;
		else
			before->child = item;
		last = item;
	}
	before->child->prev = last;
	after = cJSON_Duplicate(before, true);
	assert_int_equal(json_patch_diff(before, after, &patch, &err), 0);
	assert_null(patch->child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_documents_need_no_operation),
		cmocka_unit_test(what_is_new_is_added_and_what_differs_is_replaced),
		cmocka_unit_test(what_an_array_has_more_is_appended_and_nothing_is_moved),
		cmocka_unit_test(what_is_gone_is_removed),
		cmocka_unit_test(names_with_slashes_and_tildes_are_escaped),
		cmocka_unit_test(each_operation_has_a_path_of_its_own),
		cmocka_unit_test(a_path_that_is_too_long_is_an_error),
		cmocka_unit_test(forty_thousand_members_take_no_longer_than_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
