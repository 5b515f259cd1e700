/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reviews that cost too much to be read as a whole. */
#include "operator/webhook/admission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "lib/json.h"
#include "lib/log.h"
#include "operator/webhook/review_budget.h"
#include "operator/webhook/review_outline.h"

/* The members stand in the order in which the API server writes them; %s are metadata and args. */
#define REVIEW(kind, metadata) \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u-1\",\"kind\":{\"group\":\"\",\"version\":" \
	"\"v1\",\"kind\":\"" kind "\"},\"namespace\":\"ml\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":\"u\"},\"object\":{\"kind\":\"" kind \
	"\",\"metadata\":{" metadata "},\"spec\":{\"containers\":[{\"name\":\"r\",\"args\":["
#define REVIEW_END "]}]}},\"oldObject\":null,\"dryRun\":true}}"
#define RAY "\"labels\":{\"ray.io/is-ray-node\":\"yes\"}"

static struct metrics metrics;

static cJSON *answer_of(const char *path, const char *begin, size_t args, int want_status)
{
	const struct admission_options options = { .metrics = &metrics };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(16 << 20), answer = STRBUF_INIT(16 << 20);
	struct admission *admission;
	cJSON *json = NULL;

	strbuf_adds(&text, begin);
	for (size_t i = 0; i < args; i++)
		strbuf_adds(&text, i ? ",\"\"" : "\"\"");
	strbuf_adds(&text, REVIEW_END);
	assert_int_equal(admission_new(&options, &admission, NULL), 0);
	assert_int_equal(admission_handle(admission, path, "application/json", strbuf_str(&text),
					  text.len, &answer),
			 want_status);
	admission_free(admission);
	if (want_status == 200)
		assert_int_equal(json_parse(strbuf_str(&answer), answer.len, &json, NULL), 0);
	return json;
}

static bool has_line(const char *line)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);

	metrics_render(&metrics, &text);
	return strstr(strbuf_str(&text), line);
}

/* Copies the patch of an answer; "" if it has none. */
static void patch_of(const cJSON *answer, char *buf, size_t size)
{
	const char *base64 = json_str(answer, "response.patch");

	assert_true(!base64 || strlen(base64) < size);
	memset(buf, 0, size);
	if (base64)
		EVP_DecodeBlock((unsigned char *)buf, (const unsigned char *)base64,
				(int)strlen(base64));
}

static void a_pod_that_is_too_large_is_allowed_unread_and_says_so(void **state)
{
	static const struct {
		const char *begin, *patch;
	} rows[] = {
		{ REVIEW("Pod", RAY), "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"afterglow.dev/sidecar\":\"none: TooLarge\"}}]" },
		{ REVIEW("Pod", RAY ",\"annotations\":{\"a\":\"b\"}"),
		  "[{\"op\":\"add\",\"path\":\"/metadata/annotations/afterglow.dev~1sidecar\",\"value\":\"none: TooLarge\"}]" },
		/* Another webhook made it larger after ours had added the sidecar. */
		{ REVIEW("Pod", RAY ",\"annotations\":{\"afterglow.dev/sidecar\":\"added\"}"), "" },
		{ REVIEW("Pod", RAY ",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}"), "" },
		{ REVIEW("Pod", "\"labels\":{\"a\":\"b\"}"), "" },
		{ REVIEW("Pod", "\"labels\":[\"ray.io/is-ray-node\"],\"annotations\":7"), "" },
	};
	char patch[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *answer =
			answer_of(ADMISSION_PATH_PODS, rows[i].begin, 900000, 200);

		patch_of(answer, patch, sizeof(patch));
		if (!json_bool(answer, "response.allowed", false) ||
		    strcmp(json_str(answer, "response.uid"), "u-1") != 0 ||
		    strcmp(patch, rows[i].patch) != 0)
			fail_msg("row %zu: %s", i, patch);
		assert_non_null(strstr(json_get(answer, "response.warnings")->child->valuestring,
				       "TooLarge"));
	}
	assert_true(has_line("afterglow_admissions_total{kind=\"Pod\",outcome=\"TooLarge\"} 6"));
}

static void a_raycluster_that_is_too_large_is_allowed_as_it_is(void **state)
{
	_cleanup_json_ cJSON *answer =
		answer_of(ADMISSION_PATH_RAY, REVIEW("RayCluster", RAY), REVIEW_VALUES_MAX, 200);

	(void)state;
	assert_true(json_bool(answer, "response.allowed", false));
	assert_null(json_get(answer, "response.patch"));
	assert_true(
		has_line("afterglow_admissions_total{kind=\"RayCluster\",outcome=\"TooLarge\"} 1"));
}

static void what_is_large_and_no_review_is_refused_without_being_parsed(void **state)
{
	(void)state;
	assert_null(answer_of(ADMISSION_PATH_PODS, "[[", 900000, 400));
	assert_null(answer_of(ADMISSION_PATH_PODS, "{\"kind\":\"AdmissionReview\",\"request\":[",
			      900000, 400));
	assert_null(answer_of("/elsewhere", REVIEW("Pod", RAY), 900000, 404));
}

static void an_outline_has_no_long_text_and_the_first_of_namesakes(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *outline = NULL;

	(void)state;
	strbuf_addf(
		&text,
		"{\"request\":{\"uid\":\"a\",\"uid\":\"b\",\"namespace\":\"%0*d\",\"object\":{\"metadata\":{\"annotations\":{",
		600, 0);
	for (int i = 0; i < 1000; i++)
		strbuf_adds(&text, "\"afterglow.dev/sidecar\":\"x\",");
	strbuf_adds(&text, "\"z\":{}}}}}}");
	assert_int_equal(review_outline(strbuf_str(&text), text.len, &outline, NULL), 0);
	assert_string_equal(json_str(outline, "request.uid"), "a");
	assert_null(json_get(outline, "request.namespace"));
	assert_int_equal(
		cJSON_GetArraySize(json_get(outline, "request.object.metadata.annotations")), 1);
}

static int release(void **state)
{
	(void)state;
	metrics_release(&metrics);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_that_is_too_large_is_allowed_unread_and_says_so),
		cmocka_unit_test(a_raycluster_that_is_too_large_is_allowed_as_it_is),
		cmocka_unit_test(what_is_large_and_no_review_is_refused_without_being_parsed),
		cmocka_unit_test(an_outline_has_no_long_text_and_the_first_of_namesakes),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, release);
}
