/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of spec.endedBy. */
#include "operator/failures/ended_by.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"

static void what_is_known_is_written(void **state)
{
	_cleanup_json_ cJSON *spec = cJSON_CreateObject();
	struct ended_by by = { .at_ns = 1795224546 * NS_PER_SEC };
	char text[ENDED_BY_TEXT_MAX];

	(void)state;
	ended_by_init(&by, ENDED_BY_RAY_AUTOSCALER, "RayCluster", "demo",
		      "it scaled the group down");
	ended_by_set(&by, spec);
	assert_string_equal(json_str(spec, "endedBy.kind"), "RayAutoscaler");
	assert_string_equal(json_str(spec, "endedBy.name"), "RayCluster/demo");
	assert_string_equal(json_str(spec, "endedBy.time"), "2026-11-21T01:29:06.000Z");
	assert_string_equal(json_str(spec, "endedBy.reason"), "it scaled the group down");
	assert_string_equal(ended_by_text(&by, text),
			    "by Ray's autoscaler: it scaled the group down");
}

static void nobody_is_not_written_and_takes_back_what_was(void **state)
{
	_cleanup_json_ cJSON *spec = cJSON_CreateObject();
	struct ended_by by = { 0 };
	char text[ENDED_BY_TEXT_MAX];

	(void)state;
	ended_by_init(&by, ENDED_BY_CLIENT, NULL, NULL, NULL);
	ended_by_set(&by, spec);
	assert_string_equal(ended_by_text(&by, text), "by a client of the API");
	assert_null(json_get(spec, "endedBy.name"));
	assert_null(json_get(spec, "endedBy.time"));
	ended_by_init(&by, ENDED_BY_NOBODY, NULL, NULL, NULL);
	ended_by_set(&by, spec);
	assert_null(json_get(spec, "endedBy"));
	assert_string_equal(ended_by_text(&by, text), "");
}

static void others_text_is_tamed_and_cut(void **state)
{
	struct ended_by by = { 0 };
	char text[2000], out[ENDED_BY_TEXT_MAX];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "a\x1b[2J\n", 6);
	ended_by_init(&by, ENDED_BY_KARPENTER, "Node", text, text);
	assert_int_equal(strncmp(by.reason, "a?[2J?x", 7), 0);
	assert_int_equal(strncmp(by.name, "Node/a?[2J?x", 12), 0);
	assert_true(strlen(by.reason) < ENDED_BY_REASON_MAX && strlen(by.name) < ENDED_BY_NAME_MAX);
	assert_true(strlen(ended_by_text(&by, out)) < ENDED_BY_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_written),
		cmocka_unit_test(nobody_is_not_written_and_takes_back_what_was),
		cmocka_unit_test(others_text_is_tamed_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
