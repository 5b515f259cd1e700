/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the facts that join failures are written into their metadata, and read only from
 * there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/story.h"
#include "operator/testing.h"

#define POD "metadata: {annotations: {ray.io/ft-enabled: 'true'}}\nspec: {containers: [{name: ray-worker}, {name: other}]}\n"
#define METADATA \
	"metadata:\n  name: f\n  labels: {afterglow.dev/class: RayletFailed, ray.io/node-type: worker}\n" \
	"  annotations: {afterglow.dev/ended-at: '2026-11-21T01:29:06.500Z'}\n"
#define SPEC \
	"spec: {pod: w1, podUID: u1, container: ray-worker, node: n1, restartCount: 2, exitCode: 1, process: {name: raylet, " \
	"signal: SIGKILL}, endedBy: {kind: RayJob, name: train, reason: TTL}}\n"

/* Writes the story of a failure and reads it back from the metadata alone. */
static struct story *story_of(const char *pod_yaml, const char *failure_yaml)
{
	_cleanup_json_ cJSON *pod = json_of(pod_yaml), *failure = json_of(failure_yaml);
	const char *container = json_str(failure, "spec.container");
	struct story_facts facts = story_facts_of(pod, container ? container : "?", true);

	story_begin(&facts, failure);
	story_write(failure);
	/* Writing it twice changes nothing. */
	story_write(failure);
	cJSON_DeleteItemFromObjectCaseSensitive(failure, "spec");
	return story_read(failure);
}

static void a_story_is_written_whole(void **state)
{
	struct story *story = story_of(POD, METADATA SPEC);
	int64_t ns;

	(void)state;
	assert_non_null(story);
	assert_int_equal(time_parse("2026-11-21T01:29:06.500Z", &ns, NULL), 0);
	assert_int_equal(story->death.ended_ns, ns);
	assert_int_equal(story->death.class, FAILURE_RAYLET_FAILED);
	assert_string_equal(story->death.name, "f");
	assert_string_equal(story->death.pod, "w1");
	assert_string_equal(story->death.uid, "u1");
	assert_string_equal(story->death.container, "ray-worker");
	assert_string_equal(story->death.node, "n1");
	assert_string_equal(story->death.process, "raylet");
	assert_string_equal(story->death.ended_by, "RayJob/train/TTL");
	assert_int_equal(story->death.restart, 2);
	assert_int_equal(story->death.exit_code, 1);
	assert_true(story->is_reported);
	assert_true(story->death.ray && story->death.signaled && story->death.outlives_gcs);
	assert_false(story->death.head || story->death.lives);
	story_free(story);
}

static void what_is_not_known_is_empty(void **state)
{
	struct story *story =
		story_of("spec: {}\n", METADATA "spec: {container: other, containerLives: true}\n");

	(void)state;
	assert_non_null(story);
	assert_string_equal(story->death.uid, "");
	assert_string_equal(story->death.process, "");
	assert_string_equal(story->death.ended_by, "");
	assert_int_equal(story->death.restart, -1);
	assert_int_equal(story->death.exit_code, -1);
	assert_true(story->death.lives);
	assert_false(story->death.ray || story->death.signaled || story->death.outlives_gcs);
	story_free(story);
	story_free(NULL);
}

/* `kubectl describe` shows annotations before all else, and one of several lines line by line. */
static void a_story_is_readable(void **state)
{
	_cleanup_json_ cJSON *pod = json_of(POD), *failure = json_of(METADATA SPEC);
	struct story_facts facts = story_facts_of(pod, "ray-worker", true);
	const cJSON *annotation;

	(void)state;
	story_begin(&facts, failure);
	story_write(failure);
	annotation = cJSON_GetObjectItemCaseSensitive(json_get(failure, "metadata.annotations"),
						      STORY_ANNOTATION);
	assert_string_equal(
		cJSON_GetStringValue(annotation),
		"runsRay: yes\noutlivesGCS: yes\nreportedBySidecar: yes\npod: w1\npodUID: u1\nnode: n1\ncontainer: ray-worker\n"
		"restartCount: 2\nexitCode: 1\nprocess: raylet\nsignaled: yes\nendedBy: RayJob/train/TTL\n");
}

/* A tenant chooses the name of a process. */
static void texts_of_others_are_bounded(void **state)
{
	char yaml[8192], name[2000];
	struct story *story;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(
		yaml, sizeof(yaml),
		METADATA
		"spec: {container: ray-worker, process: {name: \"\\nexitCode: 7\\e]0;%s\"}, endedBy: {kind: \"%s\"}}\n",
		name, name);
	story = story_of(POD, yaml);
	assert_non_null(story);
	assert_int_equal(strlen(story->death.process), 253);
	assert_memory_equal(story->death.process, "?exitCode: 7?]0;x", 17);
	assert_int_equal(strlen(story->death.ended_by), 102);
	story_free(story);
}

static void a_story_that_is_longer_than_ours_is_none(void **state)
{
	_cleanup_json_ cJSON *failure =
		json_of("metadata: {name: f, labels: {afterglow.dev/class: Killed}, annotations: "
			"{afterglow.dev/ended-at: '2026-11-21T01:29:06Z'}}");
	cJSON *annotations = json_get(failure, "metadata.annotations");
	char text[100000];
	struct story *story;

	(void)state;
	snprintf(text, sizeof(text), "node: %01000d\n", 0);
	json_set_str(annotations, STORY_ANNOTATION, text);
	story = story_read(failure);
	assert_non_null(story);
	story_free(story);
	snprintf(text, sizeof(text), "node: %090000d\n", 0);
	json_set_str(annotations, STORY_ANNOTATION, text);
	assert_null(story_read(failure));
}

static void what_has_no_story_is_none(void **state)
{
	static const char *const failures[] = {
		METADATA,
		"{}",
		"metadata: {name: f}",
		"metadata: {name: f, annotations: {afterglow.dev/facts: ''}}",
		"metadata: {name: f, labels: {afterglow.dev/class: Killed}, annotations: {afterglow.dev/facts: ''}}",
		"metadata: {name: f, labels: {afterglow.dev/class: Murder}, annotations: {afterglow.dev/facts: '', "
		"afterglow.dev/ended-at: '2026-11-21T01:29:06Z'}}",
		"metadata: {name: f, labels: {afterglow.dev/class: Killed}, annotations: {afterglow.dev/facts: '', "
		"afterglow.dev/ended-at: 'yesterday'}}",
		"metadata: {labels: {afterglow.dev/class: Killed}, annotations: {afterglow.dev/facts: '', "
		"afterglow.dev/ended-at: '2026-11-21T01:29:06Z'}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		_cleanup_json_ cJSON *failure = json_of(failures[i]);

		if (story_read(failure))
			fail_msg("%s", failures[i]);
	}
}

static void only_the_mark_says_that_a_container_lives(void **state)
{
	static const char *const classes[] = { "Segfault", "Killed", "RayProcessFailed",
					       "WorkerCrash", "KernelOOMProcess" };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		for (int lives = 0; lives < 2; lives++) {
			char yaml[512];

			snprintf(
				yaml, sizeof(yaml),
				"metadata: {name: f, labels: {afterglow.dev/class: %s}}\nspec: {container: ray-worker%s}\n",
				classes[i], lives ? ", containerLives: true" : "");
			_cleanup_json_ cJSON *pod = json_of(POD), *failure = json_of(yaml),
					     *bare = json_of(yaml);
			struct story_facts facts = story_facts_of(pod, "ray-worker", true);
			story_begin(&facts, failure);
			story_write(failure);
			assert_false(story_container_lives(bare));
			cJSON_DeleteItemFromObjectCaseSensitive(failure, "spec");
			assert_int_equal(story_container_lives(failure), lives);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_story_is_written_whole),
		cmocka_unit_test(what_is_not_known_is_empty),
		cmocka_unit_test(a_story_is_readable),
		cmocka_unit_test(texts_of_others_are_bounded),
		cmocka_unit_test(a_story_that_is_longer_than_ours_is_none),
		cmocka_unit_test(what_has_no_story_is_none),
		cmocka_unit_test(only_the_mark_says_that_a_container_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
