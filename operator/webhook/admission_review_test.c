/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of AdmissionReviews: they are read as if anybody could have written them, and answered as
 * the API server expects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "operator/raycluster/testing.h"
#include "operator/webhook/admission_review.h"

#define REVIEW "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\n"
#define REQUEST REVIEW "request: {uid: u-1, kind: {kind: Pod}, namespace: ml, operation: CREATE, object: {a: 1}"

static void a_request_is_read(void **state)
{
	_cleanup_json_ cJSON *review = json_of(
		REQUEST ", dryRun: true, name: n, userInfo: {username: joe}, oldObject: {b: 2}}");
	struct admission_request r;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(admission_request_read(review, &r, &err), 0);
	assert_string_equal(r.uid, "u-1");
	assert_string_equal(r.kind, "Pod");
	assert_string_equal(r.namespace, "ml");
	assert_string_equal(r.name, "n");
	assert_string_equal(r.user, "joe");
	assert_true(r.dry_run);
	assert_false(r.update);
	assert_null(r.old_object);
}

static void an_update_has_the_old_object(void **state)
{
	_cleanup_json_ cJSON *review = json_of(
		REVIEW "request: {uid: u, operation: UPDATE, object: {}, oldObject: {b: 2}}");
	struct admission_request r;

	(void)state;
	assert_int_equal(admission_request_read(review, &r, NULL), 0);
	assert_true(r.update);
	assert_int_equal(json_int(r.old_object, "b", 0), 2);
	assert_string_equal(r.namespace, "");
}

static void what_is_no_review_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "{}", "this is not an AdmissionReview of admission.k8s.io/v1" },
		{ "[]", "this is not an AdmissionReview of admission.k8s.io/v1" },
		{ "{apiVersion: admission.k8s.io/v1beta1, kind: AdmissionReview}", "this is not an AdmissionReview of admission.k8s.io/v1" },
		{ REVIEW, "request.uid must be a string of 1 to 128 bytes" },
		{ REVIEW "request: {uid: 7, operation: CREATE, object: {}}", "request.uid must be a string of 1 to 128 bytes" },
		{ REVIEW "request: {uid: u, operation: DELETE, object: {}}", "request.operation must be CREATE or UPDATE, not DELETE" },
		{ REVIEW "request: {uid: u, operation: CREATE}", "request.object must be an object" },
		{ REVIEW "request: {uid: u, operation: CREATE, object: [1]}", "request.object must be an object" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *review = json_of(rows[i].text);
		struct admission_request r;
		struct err err = { 0 };
		assert_true(admission_request_read(review, &r, &err) < 0);
		assert_string_equal(err.text, rows[i].error);
	}
}

static cJSON *answered(const char *after, const cJSON *warnings)
{
	_cleanup_json_ cJSON *review = json_of(REQUEST "}"),
			     *changed = after ? json_of(after) : NULL;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	struct admission_request r;
	cJSON *answer = NULL;

	assert_int_equal(admission_request_read(review, &r, NULL), 0);
	admission_answer(&r, changed, warnings, &out);
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &answer, NULL), 0);
	return answer;
}

static void no_change_is_no_patch(void **state)
{
	_cleanup_json_ cJSON *none = answered(NULL, NULL), *same = answered("{a: 1}", NULL);

	(void)state;
	assert_true(json_bool(none, "response.allowed", false));
	assert_string_equal(json_str(none, "response.uid"), "u-1");
	assert_null(json_get(none, "response.patch"));
	assert_null(json_get(none, "response.patchType"));
	assert_null(json_get(same, "response.patch"));
}

static void a_change_is_a_patch_in_base64(void **state)
{
	_cleanup_json_ cJSON *answer = answered("{a: 1, b: [x]}", NULL);
	const char *patch = json_str(answer, "response.patch");
	unsigned char text[256] = "";

	(void)state;
	assert_string_equal(json_str(answer, "response.patchType"), "JSONPatch");
	assert_non_null(patch);
	assert_true(EVP_DecodeBlock(text, (const unsigned char *)patch, (int)strlen(patch)) > 0);
	assert_string_equal((char *)text, "[{\"op\":\"add\",\"path\":\"/b\",\"value\":[\"x\"]}]");
}

static void warnings_are_single_lines_of_bounded_length_and_number(void **state)
{
	_cleanup_json_ cJSON *warnings = cJSON_CreateArray(), *answer = NULL;
	char longer[600];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	json_append(warnings, cJSON_CreateString("a\nb\r\x01"));
	json_append(warnings, cJSON_CreateNumber(1));
	for (int i = 0; i < 40; i++)
		json_append(warnings, cJSON_CreateString(longer));
	answer = answered(NULL, warnings);
	assert_int_equal(cJSON_GetArraySize(json_get(answer, "response.warnings")),
			 ADMISSION_WARNINGS_MAX);
	const char *first = json_get(answer, "response.warnings")->child->valuestring;
	assert_null(strpbrk(first, "\n\r\x01"));
	assert_int_equal(strlen(json_get(answer, "response.warnings")->child->next->valuestring),
			 ADMISSION_WARNING_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_read),
		cmocka_unit_test(an_update_has_the_old_object),
		cmocka_unit_test(what_is_no_review_is_refused_with_the_reason),
		cmocka_unit_test(no_change_is_no_patch),
		cmocka_unit_test(a_change_is_a_patch_in_base64),
		cmocka_unit_test(warnings_are_single_lines_of_bounded_length_and_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
