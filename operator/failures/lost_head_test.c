/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a worker that ends with exit code 1 after its head. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/lost_head.h"
#include "operator/testing.h"

/*
 * Returns the worker's RayFailure as it becomes 20 s after the head's end; NULL: it does not
 * change.
 */
static cJSON *becomes(const char *type, const char *class, int exit_code, const char *container,
		      bool is_reported, int seconds)
{
	struct incident_death head = { .name = "h",
				       .class = FAILURE_KERNEL_OOM_CONTAINER,
				       .pod = "head-pod",
				       .uid = "u0",
				       .container = "ray-head",
				       .node = "",
				       .process = "",
				       .ended_by = "",
				       .head = true,
				       .ray = true,
				       .restart = -1,
				       .ip = "",
				       .ray_node = "",
				       .worker = "",
				       .names = { "", "", "", 0 } };
	_cleanup_json_ cJSON *pod = json_of(
				     "spec: {containers: [{name: ray-worker}, {name: other}]}"),
			     *failure = NULL;
	struct story *story;
	char yaml[1024];
	cJSON *better;

	snprintf(
		yaml, sizeof(yaml),
		"metadata:\n  name: f\n  labels: {afterglow.dev/class: %s, ray.io/node-type: %s}\n"
		"  annotations: {afterglow.dev/ended-at: '2026-11-21T01:29:20Z'}\n"
		"spec: {pod: w1, podUID: u1, container: %s, class: %s, exitCode: %d, confidence: certain, verdict: It ended.}\n",
		class, type, container, class, exit_code);
	failure = json_of(yaml);
	assert_int_equal(time_parse("2026-11-21T01:29:20Z", &head.ended_ns, NULL), 0);
	head.ended_ns -= seconds * NS_PER_SEC;
	struct story_facts facts = story_facts_of(pod, container, is_reported);
	story_begin(&facts, failure);
	failure_seal(failure);
	story = story_read(failure);
	assert_non_null(story);
	better = lost_head_refined(story, &head, 1, failure);
	/* It changes only once: after a failed write it is looked at again. */
	if (better && lost_head_refined(story, &head, 1, better))
		fail_msg("it is refined twice");
	assert_null(lost_head_refined(story, &head, 0, failure));
	story_free(story);
	return better;
}

static void an_exit_code_alone_is_the_lost_gcs(void **state)
{
	_cleanup_json_ cJSON *failure =
		becomes("worker", "ApplicationError", 1, "ray-worker", false, 20);
	struct story *story = story_read(failure);

	(void)state;
	assert_string_equal(json_str(failure, "spec.class"), "GCSLost");
	assert_string_equal(json_str(failure, "spec.confidence"), "likely");
	assert_string_equal(
		json_str(failure, "spec.verdict"),
		"Container ray-worker of w1 ended with exit code 1, most likely because its head was gone: "
		"KernelOOMContainer of head-pod 20 s before");
	assert_string_equal(json_str(failure, "spec.signature"), "v1:GCSLost:ray-worker:exit=1");
	assert_string_equal(
		json_str(cJSON_GetArrayItem(json_get(failure, "spec.evidence"), 0), "text"),
		"KernelOOMContainer of pod head-pod, 20 s before (RayFailure h)");
	assert_int_equal(cJSON_GetArraySize(json_get(failure, "spec.missing")), 1);
	assert_non_null(story);
	assert_int_equal(story->death.class, FAILURE_GCS_LOST);
	story_free(story);
}

static void what_a_sidecar_saw_keeps_its_class_and_is_not_certain(void **state)
{
	_cleanup_json_ cJSON *failure =
		becomes("worker", "ApplicationError", 1, "ray-worker", true, 0);

	(void)state;
	assert_string_equal(json_str(failure, "spec.class"), "ApplicationError");
	assert_string_equal(json_str(failure, "spec.confidence"), "likely");
	assert_string_equal(json_str(failure, "spec.verdict"), "It ended.");
	assert_string_equal(
		json_str(cJSON_GetArrayItem(json_get(failure, "spec.evidence"), 0), "text"),
		"KernelOOMContainer of pod head-pod, at about the same time (RayFailure h)");
}

static void all_else_stays(void **state)
{
	(void)state;
	assert_null(becomes("worker", "ApplicationError", 1, "ray-worker", false, 121));
	assert_null(becomes("worker", "ApplicationError", 1, "ray-worker", false, -6));
	assert_null(becomes("worker", "ApplicationError", 3, "ray-worker", false, 20));
	assert_null(becomes("worker", "ApplicationError", 1, "other", false, 20));
	assert_null(becomes("worker", "Segfault", 139, "ray-worker", false, 20));
	assert_null(becomes("head", "ApplicationError", 1, "ray-worker", false, 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_code_alone_is_the_lost_gcs),
		cmocka_unit_test(what_a_sidecar_saw_keeps_its_class_and_is_not_certain),
		cmocka_unit_test(all_else_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
