/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of distinguishing a probe's kill from others by the pod's Events. */
#include "operator/fate/probe_kill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "operator/failures/testing.h"

#define INSTANCE(class, code, restart) \
	"metadata: {namespace: ml, name: x, labels: {afterglow.dev/class: " class "}}\n" \
	"spec: {class: " class ", confidence: likely, exitCode: " code ", pod: demo, podUID: u1, container: ray-worker, " \
	"restartCount: " restart ", startedAt: \"2026-11-21T01:00:00Z\", endedAt: \"2026-11-21T01:05:00Z\", verdict: v, " \
	"evidence: [], missing: [{what: who sent the signal, needs: x}]}\n"
#define FAILURE(class, code) INSTANCE(class, code, "0")
#define AFTER_RESTART(class, code) INSTANCE(class, code, "1")
#define EVENT(reason, uid, container, first, last, message) \
	"items:\n- {reason: " reason ", involvedObject: {uid: " uid ", fieldPath: \"spec.containers{" container "}\"}, " \
	"firstTimestamp: \"2026-11-21T" first "Z\", lastTimestamp: \"2026-11-21T" last "Z\", message: \"" message "\"}\n"
#define RAYLET(confidence, signal, lives) \
	"metadata: {namespace: ml, name: x, labels: {afterglow.dev/class: RayletFailed}}\n" \
	"spec: {class: RayletFailed, confidence: " confidence ", exitCode: 1, pod: demo, podUID: u1, container: ray-worker, restartCount: 0, " \
	"process: {name: raylet, signal: " signal "}, containerLives: " lives ", startedAt: \"2026-11-21T01:00:00Z\", " \
	"endedAt: \"2026-11-21T01:05:00Z\", verdict: v, evidence: [], missing: [{what: who sent the signal, needs: x}]}\n"
#define LIVENESS "Container ray-worker failed liveness probe, will be restarted"

static const struct {
	const char *what, *failure, *events;
	const char *class, *confidence;
} rows[] = {
	{ "SIGKILL after a failed liveness probe", FAILURE("Killed", "137"),
	  EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS), "ProbeKilled", "likely" },
	{ "a startup probe", FAILURE("Terminated", "143"),
	  EVENT("Killing", "u1", "ray-worker", "01:05:00", "01:05:00", "Container ray-worker failed startup probe, will be restarted"),
	  "ProbeKilled", "likely" },
	{ "an exit code of its own", FAILURE("ApplicationError", "1"),
	  EVENT("Killing", "u1", "ray-worker", "01:04:59", "01:04:59", LIVENESS), "ProbeKilled", "likely" },
	{ "a raylet that hung, and that `ray start` killed when it was asked to stop", RAYLET("likely", "SIGKILL", "false"),
	  EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS), "ProbeKilled", "likely" },
	{ "the first of a series", FAILURE("Killed", "137"), EVENT("Killing", "u1", "ray-worker", "01:04:59", "02:00:00", LIVENESS),
	  "ProbeKilled", "likely" },
	{ "a failed hook", FAILURE("Terminated", "143"), EVENT("Killing", "u1", "ray-worker", "01:04:59", "01:04:59", "FailedPostStartHook"),
	  "StartFailure", "likely" },
	/* A restart takes less than a second if the container is killed without a grace period. */
	{ "of the instance before, a second before the start", AFTER_RESTART("Killed", "137"),
	  EVENT("Killing", "u1", "ray-worker", "00:59:59", "00:59:59", LIVENESS), "Killed", "likely" },
	{ "of the instance before, in the second of the start", AFTER_RESTART("Killed", "137"),
	  EVENT("Killing", "u1", "ray-worker", "01:00:00", "01:00:00", LIVENESS), "Killed", "likely" },
	{ "of the instance after, a second after the end", AFTER_RESTART("Killed", "137"),
	  EVENT("Killing", "u1", "ray-worker", "01:05:01", "01:05:01", LIVENESS), "Killed", "likely" },
	{ "a hook that failed at once", AFTER_RESTART("Terminated", "143"),
	  EVENT("Killing", "u1", "ray-worker", "01:00:00", "01:00:00", "FailedPostStartHook"), "StartFailure", "likely" },
	{ "of the instance before", FAILURE("Killed", "137"), EVENT("Killing", "u1", "ray-worker", "00:58:00", "00:59:00", LIVENESS),
	  "Killed", "likely" },
	{ "of the instance after", FAILURE("Killed", "137"), EVENT("Killing", "u1", "ray-worker", "01:06:00", "01:06:00", LIVENESS),
	  "Killed", "likely" },
	{ "another container's", FAILURE("Killed", "137"), EVENT("Killing", "u1", "worker", "01:04:30", "01:04:30", LIVENESS),
	  "Killed", "likely" },
	{ "another pod's", FAILURE("Killed", "137"), EVENT("Killing", "u2", "ray-worker", "01:04:30", "01:04:30", LIVENESS),
	  "Killed", "likely" },
	{ "another reason", FAILURE("Killed", "137"), EVENT("Unhealthy", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS),
	  "Killed", "likely" },
	{ "the pod's deletion", FAILURE("Killed", "137"),
	  EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", "Stopping container ray-worker"), "Killed", "likely" },
	{ "times that are none", FAILURE("Killed", "137"), EVENT("Killing", "u1", "ray-worker", "x", "y", LIVENESS), "Killed",
	  "likely" },
	{ "no events", FAILURE("Killed", "137"), "items: []", "Killed", "likely" },
	{ "no list", FAILURE("Killed", "137"), "items: 7", "Killed", "likely" },
	{ "events that are none", FAILURE("Killed", "137"), "items: [5, {}, {reason: Killing}]", "Killed", "likely" },
};

static void the_events_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ray_failure *failure = failure_of_yaml(rows[i].failure);
		_cleanup_json_ cJSON *events = json_of(rows[i].events);
		bool hook = strcmp(rows[i].class, "StartFailure") == 0;
		bool expected = hook || strcmp(rows[i].class, "ProbeKilled") == 0;

		assert_true(probe_kill_possible(failure));
		if (probe_kill_refine(failure, events) != expected ||
		    strcmp(failure_class_name(failure->class), rows[i].class) != 0 ||
		    strcmp(confidence_name(failure->confidence), rows[i].confidence) != 0)
			fail_msg("%s: %s, %s", rows[i].what, failure_class_name(failure->class),
				 confidence_name(failure->confidence));
		/* Anybody with the right to create Events could have written it. */
		assert_int_equal(failure->missing.n, 1);
		assert_non_null(strstr(failure->missing.list[0].subject,
				       expected ? "proof that the kubelet wrote the Event" :
						  "who sent the signal"));
		assert_int_equal(failure->evidence.n, expected);
		if (expected)
			assert_non_null(
				strstr(failure->verdict,
				       hook ? "its postStart hook failed" : "probe failed"));
		ray_failure_free(failure);
	}
}

static void what_memory_high_slowed_down_is_why_the_probe_failed(void **state)
{
	static const struct {
		const char *source;
		bool slowed;
	} cases[] = { { "memory.high", true }, { "memory.events", false }, { NULL, false } };
	_cleanup_json_ cJSON *events =
		json_of(EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS));
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ray_failure *failure = failure_of_yaml(FAILURE("Killed", "137"));

		ray_failure_add_evidence(failure, cases[i].source,
					 "for 40 s up to the last sample");
		assert_true(probe_kill_refine(failure, events));
		assert_non_null(strstr(failure->verdict, "liveness probe failed"));
		assert_int_equal(strstr(failure->verdict, "memory.high had slowed it down") != NULL,
				 cases[i].slowed);
		ray_failure_free(failure);
	}
}

static void the_probes_own_words_are_evidence(void **state)
{
	static const struct {
		const char *event, *words;
	} cases[] = {
		{ EVENT("Unhealthy", "u1", "ray-worker", "01:03:00", "01:04:30",
			"Liveness probe failed: command timed out after 2s"),
		  "Unhealthy: Liveness probe failed: command timed out after 2s" },
		{ EVENT("Unhealthy", "u1", "ray-worker", "01:03:00", "01:04:30",
			"Readiness probe failed: no"),
		  NULL },
		{ EVENT("Unhealthy", "u1", "ray-worker", "00:03:00", "00:04:30",
			"Liveness probe failed: of the instance before"),
		  NULL },
		{ EVENT("Unhealthy", "u1", "worker", "01:03:00", "01:04:30",
			"Liveness probe failed: of another container"),
		  NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ray_failure *failure = failure_of_yaml(FAILURE("Killed", "137"));
		_cleanup_json_ cJSON *events = json_of(
			EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS));
		_cleanup_json_ cJSON *other = json_of(cases[i].event);

		cJSON_AddItemToArray(json_get(events, "items"),
				     cJSON_DetachItemFromArray(json_get(other, "items"), 0));
		assert_true(probe_kill_refine(failure, events));
		assert_int_equal(failure->evidence.n, cases[i].words ? 2 : 1);
		if (cases[i].words)
			assert_string_equal(failure->evidence.list[1].text, cases[i].words);
		ray_failure_free(failure);
	}
}

/* Kubernetes lists Events by their names, not by their times. */
static void of_the_probes_words_the_last_ones_are_evidence(void **state)
{
	static const char *const others[] = {
		EVENT("Unhealthy", "u1", "ray-worker", "01:00:20", "01:00:30",
		      "Liveness probe failed: connection refused"),
		EVENT("Unhealthy", "u1", "ray-worker", "01:03:00", "01:04:30",
		      "Liveness probe failed: command timed out after 2s"),
	};
	(void)state;

	for (size_t first = 0; first < 2; first++) {
		struct ray_failure *failure = failure_of_yaml(FAILURE("Killed", "137"));
		_cleanup_json_ cJSON *events = json_of(
			EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS));

		for (size_t i = 0; i < 2; i++) {
			_cleanup_json_ cJSON *other = json_of(others[i ^ first]);

			cJSON_AddItemToArray(
				json_get(events, "items"),
				cJSON_DetachItemFromArray(json_get(other, "items"), 0));
		}
		assert_true(probe_kill_refine(failure, events));
		assert_int_equal(failure->evidence.n, 2);
		assert_string_equal(failure->evidence.list[1].text,
				    "Unhealthy: Liveness probe failed: command timed out after 2s");
		ray_failure_free(failure);
	}
}

/* The list comes from the pod, where anybody can write anything. */
static void gaps_without_a_name_are_left_alone(void **state)
{
	struct ray_failure *failure = failure_of_yaml(FAILURE("Killed", "137"));
	_cleanup_json_ cJSON *events =
		json_of(EVENT("Killing", "u1", "ray-worker", "01:04:30", "01:04:30", LIVENESS));
	(void)state;

	ray_failure_add_missing(failure, NULL, "y");
	ray_failure_add_missing(failure, "", NULL);
	assert_true(probe_kill_refine(failure, events));
	assert_int_equal(failure->missing.n, 3);
	ray_failure_free(failure);
}

static void what_is_explained_needs_no_events(void **state)
{
	static const char *const explained[] = { "KernelOOMContainer", "Evicted", "PodDeleted",
						 "Segfault", "StartFailure" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
		struct ray_failure *failure = failure_of_yaml(FAILURE("Killed", "137"));

		failure->class = (enum failure_class)failure_class_from_name(explained[i]);
		assert_false(probe_kill_possible(failure));
		ray_failure_free(failure);
	}
	const char *const raylets[] = { RAYLET("certain", "SIGKILL", "false"),
					RAYLET("likely", "SIGSEGV", "false"),
					RAYLET("likely", "SIGKILL", "true") };

	for (size_t i = 0; i < ARRAY_SIZE(raylets); i++) {
		struct ray_failure *failure = failure_of_yaml(raylets[i]);

		assert_false(probe_kill_possible(failure));
		ray_failure_free(failure);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_events_decide),
		cmocka_unit_test(what_memory_high_slowed_down_is_why_the_probe_failed),
		cmocka_unit_test(the_probes_own_words_are_evidence),
		cmocka_unit_test(of_the_probes_words_the_last_ones_are_evidence),
		cmocka_unit_test(gaps_without_a_name_are_left_alone),
		cmocka_unit_test(what_is_explained_needs_no_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
