/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reducing a RayFailure to what an older CRD accepts. */
#include "operator/failures/older_crd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/testing.h"

#define FAILURE \
	"metadata: {name: f, labels: {afterglow.dev/class: NewClass}}\nspec: {pod: w, container: ray, class: NewClass, confidence: " \
	"certain, verdict: It ended., signature: s, evidence: [{source: new, text: t}]}\n"

static const struct {
	const char *status, *what, *spec;
} rows[] = {
	{ "details: {causes: [{reason: FieldValueNotSupported, field: spec.class}]}", "class",
	  "{pod: w, container: ray, class: Unknown, confidence: certain, verdict: '[NewClass] It ended.', signature: s, evidence: "
	  "[{source: new, text: t}]}" },
	{ "details: {causes: [{field: 'spec.evidence[0].source'}, {field: spec.class}]}",
	  "evidence, class",
	  "{pod: w, container: ray, class: Unknown, confidence: certain, verdict: '[NewClass] It ended.', signature: s}" },
	{ "details: {causes: [{field: spec.confidence}, {field: spec.confidence}]}", "confidence",
	  "{pod: w, container: ray, class: NewClass, confidence: unknown, verdict: It ended., signature: s, evidence: "
	  "[{source: new, text: t}]}" },
	/* What cannot be repaired, or is invalid, stays. */
	{ "details: {causes: [{field: spec.pod}, {field: spec.verdict}, {field: spec}, {field: spec.}, {field: metadata.name}]}",
	  "", NULL },
	{ "details: {causes: [{field: spec.unheard-of}, {field: 7}, {}, 5, {field: '<nil>'}]}", "",
	  NULL },
	{ "details: {causes: {a: b}}", "", NULL },
	{ "message: no", "", NULL },
};

static void what_the_server_names_goes_and_the_class_stands_in_the_verdict(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *failure = json_of(FAILURE), *status = json_of(rows[i].status);
		_cleanup_json_ cJSON *whole = json_of(FAILURE),
				     *spec = rows[i].spec ? json_of(rows[i].spec) : NULL;
		char what[OLDER_CRD_TEXT_MAX];

		assert_int_equal(older_crd_reduce(failure, status, what), *rows[i].what != 0);
		assert_string_equal(what, rows[i].what);
		if (!cJSON_Compare(json_get(failure, "spec"), spec ? spec : json_get(whole, "spec"),
				   true))
			fail_msg("%s: %s", rows[i].status, cJSON_Print(failure));
		/* Crash loops and incidents are found by the metadata. */
		assert_true(cJSON_Compare(json_get(failure, "metadata"),
					  json_get(whole, "metadata"), true));
	}
}

static void a_second_refusal_of_the_same_finds_nothing_to_take_out(void **state)
{
	_cleanup_json_ cJSON *failure = json_of(FAILURE), *status = json_of(rows[0].status);
	char what[OLDER_CRD_TEXT_MAX];

	(void)state;
	assert_true(older_crd_reduce(failure, status, what));
	assert_false(older_crd_reduce(failure, status, what));
	assert_string_equal(what, "");
}

static void many_causes_are_cut(void **state)
{
	_cleanup_json_ cJSON *failure = json_of("spec: {class: A, verdict: v}"),
			     *status = json_of("details: {causes: []}");
	char what[OLDER_CRD_TEXT_MAX], field[64];

	(void)state;
	for (int i = 0; i < 100; i++) {
		cJSON *cause = cJSON_CreateObject();

		snprintf(field, sizeof(field), "spec.member%d", i);
		json_set_str(json_get(failure, "spec"), field + 5, "x");
		json_set_str(cause, "field", field);
		json_append(json_get(status, "details.causes"), cause);
	}
	assert_true(older_crd_reduce(failure, status, what));
	assert_int_equal(strlen(what), OLDER_CRD_TEXT_MAX - 1);
	assert_int_equal(cJSON_GetArraySize(json_get(failure, "spec")), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_server_names_goes_and_the_class_stands_in_the_verdict),
		cmocka_unit_test(a_second_refusal_of_the_same_finds_nothing_to_take_out),
		cmocka_unit_test(many_causes_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
