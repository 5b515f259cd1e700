/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which labels a LabelSelector selects, and of invalid selectors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "operator/policy/selector.h"
#include "operator/raycluster/testing.h"

static bool selects(const char *selector, const char *labels)
{
	_cleanup_json_ cJSON *json = json_of(selector), *of = json_of(labels);
	_cleanup_(selector_release) struct selector s = { 0 };
	struct selector_labels read;
	struct err err = { 0 };

	if (selector_parse(json, "spec.selector", &s, &err) < 0)
		fail_msg("%s: %s", selector, err.text);
	selector_labels_read(of, &read);
	return selector_matches(&s, &read);
}

static void a_selector_selects_what_meets_all_of_its_requirements(void **state)
{
	static const struct {
		const char *selector, *labels;
		bool selected;
	} rows[] = {
		{ "null", "{}", true },
		{ "{}", "{a: b}", true },
		{ "{matchLabels: null, matchExpressions: null}", "{a: b}", true },
		{ "{matchLabels: {a: b}}", "{a: b, c: d}", true },
		{ "{matchLabels: {a: b}}", "{a: c}", false },
		{ "{matchLabels: {a: b}}", "{A: b}", false },
		{ "{matchLabels: {a: b}}", "{}", false },
		{ "{matchLabels: {a: b}}", "null", false },
		{ "{matchLabels: {a: \"\"}}", "{a: \"\"}", true },
		{ "{matchLabels: {a: b, c: d}}", "{a: b}", false },
		{ "{matchLabels: {a.b/c: d}}", "{a.b/c: d}", true },
		{ "{matchExpressions: [{key: a, operator: In, values: [x, b]}]}", "{a: b}", true },
		{ "{matchExpressions: [{key: a, operator: In, values: [x, y]}]}", "{a: b}", false },
		{ "{matchExpressions: [{key: a, operator: In, values: [x]}]}", "{}", false },
		{ "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "{a: b}", true },
		{ "{matchExpressions: [{key: a, operator: NotIn, values: [x, b]}]}", "{a: b}", false },
		{ "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "{}", true },
		{ "{matchExpressions: [{key: a, operator: Exists}]}", "{a: \"\"}", true },
		{ "{matchExpressions: [{key: a, operator: Exists, values: []}]}", "{b: a}", false },
		{ "{matchExpressions: [{key: a, operator: DoesNotExist}]}", "{b: a}", true },
		{ "{matchExpressions: [{key: a, operator: DoesNotExist}]}", "{a: b}", false },
		{ "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}", "{a: b}", false },
		{ "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}", "{a: b, c: d}", true },
		/* Labels that an API server never sends. */
		{ "{matchLabels: {a: b}}", "{a: 1}", false },
		{ "{matchLabels: {a: b}}", "[a, b]", false },
		{ "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", "{a: [x]}", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (selects(rows[i].selector, rows[i].labels) != rows[i].selected)
			fail_msg("%s of %s", rows[i].selector, rows[i].labels);
}

static void what_is_no_selector_is_named_with_its_place(void **state)
{
	static const struct {
		const char *selector, *text;
	} rows[] = {
		{ "[]", "spec.selector must be an object" },
		{ "all", "spec.selector must be an object" },
		{ "{matchlabels: {a: b}}", "spec.selector has a field \"matchlabels\" that is not known" },
		{ "{matchLabels: [a]}", "spec.selector.matchLabels must be an object" },
		{ "{matchLabels: {a: 1}}", "spec.selector.matchLabels must be texts of at most 63 bytes" },
		{ "{matchLabels: {a: null}}", "spec.selector.matchLabels must be texts" },
		{ "{matchLabels: {\"\": b}}", "spec.selector.matchLabels must have keys" },
		{ "{matchExpressions: {key: a}}", "spec.selector.matchExpressions must be a list" },
		{ "{matchExpressions: [a]}", "spec.selector.matchExpressions[0].key must be" },
		{ "{matchExpressions: [{key: a, operator: Exists}, {key: b}]}", "matchExpressions[1].operator must be In, NotIn" },
		{ "{matchExpressions: [{key: a, operator: in, values: [b]}]}", "matchExpressions[0].operator must be" },
		{ "{matchExpressions: [{key: a, operator: In}]}", "matchExpressions[0].values must be a list of 1 to 64" },
		{ "{matchExpressions: [{key: a, operator: In, values: []}]}", "matchExpressions[0].values must be a list" },
		{ "{matchExpressions: [{key: a, operator: In, values: b}]}", "matchExpressions[0].values must be a list" },
		{ "{matchExpressions: [{key: a, operator: NotIn, values: [[b]]}]}", "matchExpressions[0].values must be texts" },
		{ "{matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "matchExpressions[0].values must be absent" },
		{ "{matchExpressions: [{key: [a], operator: Exists}]}", "matchExpressions[0].key must be" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *json = json_of(rows[i].selector);
		struct selector s = { 0 };
		struct err err = { 0 };

		assert_int_equal(selector_parse(json, "spec.selector", &s, &err), -EINVAL);
		assert_null(s.requirements);
		if (!strstr(err.text, rows[i].text))
			fail_msg("\"%s\" does not hold \"%s\"", err.text, rows[i].text);
	}
}

static void too_much_of_anything_is_refused(void **state)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject(), *wide = cJSON_CreateObject();
	cJSON *labels = json_object_at(json, "matchLabels"), *item = cJSON_CreateObject(), *values;
	struct selector s = { 0 };
	char text[400];

	(void)state;
	for (int i = 0; i <= SELECTOR_REQUIREMENTS_MAX; i++) {
		snprintf(text, sizeof(text), "k%d", i);
		json_set_str(labels, text, "v");
	}
	assert_int_equal(selector_parse(json, "spec.selector", &s, NULL), -EINVAL);
	json_set_str(item, "key", "a");
	json_set_str(item, "operator", "In");
	values = json_array_at(item, "values");
	for (int i = 0; i <= SELECTOR_VALUES_MAX; i++)
		json_append(values, cJSON_CreateString("v"));
	json_append(json_array_at(wide, "matchExpressions"), item);
	assert_int_equal(selector_parse(wide, "spec.selector", &s, NULL), -EINVAL);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_set(json, "matchLabels", cJSON_CreateObject());
	json_set_str(json_object_at(json, "matchLabels"), text, "v");
	assert_int_equal(selector_parse(json, "spec.selector", &s, NULL), -EINVAL);
}

/* No more of them are kept either. */
static void of_many_labels_the_first_are_looked_at(void **state)
{
	_cleanup_json_ cJSON *labels = cJSON_CreateObject(),
			     *first = json_of("{matchLabels: {l0: x, l255: x}}"),
			     *beyond = json_of("{matchLabels: {l256: x}}");
	struct selector a = { 0 }, b = { 0 };
	struct selector_labels all;
	char name[16];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		cJSON_AddStringToObject(labels, name, "x");
	}
	assert_int_equal(selector_parse(first, "s", &a, NULL), 0);
	assert_int_equal(selector_parse(beyond, "s", &b, NULL), 0);
	selector_labels_read(labels, &all);
	assert_true(selector_matches(&a, &all));
	assert_false(selector_matches(&b, &all));
	selector_labels_read(NULL, &all);
	assert_false(selector_matches(&b, &all));
	selector_release(&a);
	selector_release(&b);
}

static void selectors_are_equal_when_they_say_the_same(void **state)
{
	static const char *const rows[] = {
		"{}", "{matchLabels: {a: b}}", "{matchLabels: {a: c}}", "{matchExpressions: [{key: a, operator: Exists}]}",
		"{matchExpressions: [{key: a, operator: In, values: [x, y]}]}", "{matchExpressions: [{key: a, operator: In, values: [x]}]}",
	};
	struct selector s[ARRAY_SIZE(rows)] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *json = json_of(rows[i]);

		assert_int_equal(selector_parse(json, "s", &s[i], NULL), 0);
		for (size_t j = 0; j <= i; j++)
			assert_int_equal(selector_equals(&s[i], &s[j]), i == j);
	}
	assert_true(selector_is_empty(&s[0]) && !selector_is_empty(&s[1]));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		selector_release(&s[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_selector_selects_what_meets_all_of_its_requirements),
		cmocka_unit_test(what_is_no_selector_is_named_with_its_place),
		cmocka_unit_test(too_much_of_anything_is_refused),
		cmocka_unit_test(of_many_labels_the_first_are_looked_at),
		cmocka_unit_test(selectors_are_equal_when_they_say_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
