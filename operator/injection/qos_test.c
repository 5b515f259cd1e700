/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the quality of service class of a pod. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "operator/injection/qos.h"
#include "operator/raycluster/testing.h"

static void a_pod_is_guaranteed_when_each_container_has_limits_and_requests_equal_to_them(void **state)
{
	static const struct {
		const char *spec;
		bool guaranteed;
	} rows[] = {
		{ "containers: [{resources: {limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 2000m, memory: 4096Mi}}}]", true },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}}}]", true },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}, requests: {cpu: '1', memory: 4Gi}}}]", false },
		{ "containers: [{resources: {limits: {memory: 4Gi}, requests: {memory: 4Gi}}}]", false },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}}}, {name: other}]", false },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}}}]\ninitContainers: [{name: i}]", false },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}}}]\n"
		  "initContainers: [{resources: {limits: {cpu: 200m, memory: 256Mi}}}]",
		  true },
		{ "containers: [{resources: {limits: {cpu: '0', memory: 4Gi}}}]", false },
		{ "containers: [{resources: {limits: {cpu: nonsense, memory: 4Gi}}}]", false },
		{ "containers: [{resources: {limits: {cpu: '2', memory: 4Gi}, requests: {cpu: {}, memory: 4Gi}}}]", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *spec = json_of(rows[i].spec);
		if (qos_is_guaranteed(spec) != rows[i].guaranteed)
			fail_msg("row %zu: %s", i, rows[i].spec);
	}
}

static void a_pod_is_best_effort_when_nothing_in_it_has_cpu_or_memory(void **state)
{
	static const struct {
		const char *spec;
		bool best_effort;
	} rows[] = {
		{ "containers: [{name: ray}, {resources: {}}]", true },
		{ "containers: [{resources: {limits: {ephemeral-storage: 1Gi}, requests: {cpu: '0'}}}]", true },
		{ "containers: [{name: ray}, {resources: {requests: {cpu: 1m}}}]", false },
		{ "containers: [{resources: {limits: {memory: 1Gi}}}]", false },
		{ "containers: [{name: ray}]\ninitContainers: [{resources: {limits: {memory: 1Gi}}}]", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *spec = json_of(rows[i].spec);
		if (qos_is_best_effort(spec) != rows[i].best_effort)
			fail_msg("row %zu: %s", i, rows[i].spec);
	}
}

static void
equalizing_keeps_limits_and_takes_the_larger_of_request_and_fallback_where_there_is_none(
	void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi}}",
		  "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"256Mi\"},\"limits\":{\"memory\":\"256Mi\",\"cpu\":\"100m\"}}" },
		{ "{requests: {cpu: 500m}, limits: {memory: 2Mi}}",
		  "{\"requests\":{\"cpu\":\"500m\",\"memory\":\"2Mi\"},\"limits\":{\"memory\":\"2Mi\",\"cpu\":\"500m\"}}" },
		{ "{}", "{\"limits\":{\"cpu\":\"100m\",\"memory\":\"1Mi\"},\"requests\":{\"cpu\":\"100m\",\"memory\":\"1Mi\"}}" },
		{ "{limits: {cpu: '1', memory: 2Gi, x: 1}}",
		  "{\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\",\"x\":1},\"requests\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *resources = json_of(rows[i].before);
		qos_equalize(resources, "100m", "1Mi");
		_cleanup_free_ char *text = cJSON_PrintUnformatted(resources);
		assert_string_equal(text, rows[i].after);
	}
}

#define LIMITS(rules) "{spec: {limits: [{type: Container, " rules "}]}}"
#define OURS "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi}}"

static void requests_and_limits_are_changed_until_they_keep_the_rules_of_the_namespace(void **state)
{
	static const struct {
		const char *range, *before, *after;
	} rows[] = {
		{ "{spec: {limits: [{type: Container, maxLimitRequestRatio: {memory: '4'}}]}}",
		  "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi}}",
		  "{requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 256Mi}}" },
		/*
		 * The smallest ratio counts, also that of the whole pod, and a ratio of CPUs needs
		 * a limit.
		 */
		{ "{spec: {limits: [{type: Container, maxLimitRequestRatio: {memory: 4}}, {type: Pod, maxLimitRequestRatio: {memory: '1.5', cpu: '2'}}]}}",
		  "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi}}",
		  "{requests: {cpu: 50m, memory: \"178956971\"}, limits: {memory: 256Mi, cpu: 100m}}" },
		{ "{spec: {limits: [{type: Container, maxLimitRequestRatio: {memory: '20'}}]}}",
		  "{requests: {memory: 16Mi}, limits: {memory: 256Mi}}",
		  "{requests: {memory: 16Mi}, limits: {memory: 256Mi}}" },
		{ "{spec: {limits: [{type: PersistentVolumeClaim, maxLimitRequestRatio: {memory: '2'}}, 7, {type: Container}]}}",
		  "{}", "{}" },
		{ "{spec: {limits: [{type: Container, maxLimitRequestRatio: {memory: nonsense, cpu: -1}}]}}",
		  "{}", "{}" },
		{ "{spec: {limits: [{type: Container, maxLimitRequestRatio: {memory: '2'}}]}}",
		  "{}", "{limits: {memory: 256Mi}, requests: {memory: 128Mi}}" },
		{ "{spec: {limits: {type: Container}}}", "{}", "{}" },
		{ LIMITS("max: {memory: 128Mi, cpu: '2'}"), OURS,
		  "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 128Mi}}" },
		{ LIMITS("max: {memory: 8Mi}"), OURS,
		  "{requests: {cpu: 10m, memory: 8Mi}, limits: {memory: 8Mi}}" },
		{ LIMITS("min: {memory: 64Mi, cpu: 50m}"), OURS,
		  "{requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 256Mi}}" },
		{ LIMITS("min: {memory: 1Gi}"), OURS,
		  "{requests: {cpu: 10m, memory: 1Gi}, limits: {memory: 1Gi}}" },
		{ LIMITS("max: {cpu: 50m}, min: {cpu: 20m}"),
		  "{limits: {cpu: 100m}, requests: {cpu: 100m}}",
		  "{limits: {cpu: 50m}, requests: {cpu: 50m}}" },
		{ LIMITS("max: {memory: 128Mi}, maxLimitRequestRatio: {memory: '2'}"), OURS,
		  "{requests: {cpu: 10m, memory: 64Mi}, limits: {memory: 128Mi}}" },
		/* The strictest of several. */
		{ LIMITS("max: {memory: 128Mi}}, {type: Container, max: {memory: 64Mi}, min: {memory: 4Mi}}, {type: Container, max: {memory: 1Gi}"),
		  OURS, "{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 64Mi}}" },
		/* Nothing is known of the pod's other containers. */
		{ "{spec: {limits: [{type: Pod, max: {memory: 128Mi}, min: {memory: 64Mi}}]}}",
		  OURS, OURS },
		/* A maximum of the disk would else be the sidecar's request. */
		{ LIMITS("max: {ephemeral-storage: 2Gi}, min: {ephemeral-storage: 1Mi}"), OURS,
		  "{requests: {cpu: 10m, memory: 16Mi, ephemeral-storage: 1Mi}, limits: {memory: 256Mi, ephemeral-storage: 1Gi}}" },
		{ LIMITS("max: {ephemeral-storage: 500Mi}"), OURS,
		  "{requests: {cpu: 10m, memory: 16Mi, ephemeral-storage: '0'}, limits: {memory: 256Mi, ephemeral-storage: 500Mi}}" },
		{ LIMITS("maxLimitRequestRatio: {ephemeral-storage: '2'}"), OURS,
		  "{requests: {cpu: 10m, memory: 16Mi, ephemeral-storage: 512Mi}, limits: {memory: 256Mi, ephemeral-storage: 1Gi}}" },
		{ LIMITS("max: {memory: nonsense}, min: {memory: -5}"), OURS, OURS },
		/*
		 * An absent request is the limit, as without a LimitRange, and nothing is asked for
		 * without either.
		 */
		{ LIMITS("max: {memory: 512Mi, cpu: '2'}"), "{limits: {memory: 128Mi}}",
		  "{requests: {memory: 128Mi}, limits: {memory: 128Mi}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *range = json_of(rows[i].range),
				     *resources = json_of(rows[i].before),
				     *want = json_of(rows[i].after);
		struct limit_rules rules = { 0 };

		qos_add_rules(&rules, range);
		qos_keep_rules(resources, &rules, "100m", "256Mi", "1Gi");
		assert_json(resources, want);
	}
}

static void a_limit_that_is_asked_for_is_set_and_requests_stay(void **state)
{
	struct limit_rules rules = { .of[0].ratio = LIMIT_RATIO_ANY };
	_cleanup_json_ cJSON
		*resources = json_of(OURS),
		*want = json_of(
			"{requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 256Mi, cpu: 100m}}");

	(void)state;
	qos_keep_rules(resources, &rules, "100m", "256Mi", "1Gi");
	assert_json(resources, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_that_is_asked_for_is_set_and_requests_stay),
		cmocka_unit_test(
			a_pod_is_guaranteed_when_each_container_has_limits_and_requests_equal_to_them),
		cmocka_unit_test(a_pod_is_best_effort_when_nothing_in_it_has_cpu_or_memory),
		cmocka_unit_test(
			equalizing_keeps_limits_and_takes_the_larger_of_request_and_fallback_where_there_is_none),
		cmocka_unit_test(
			requests_and_limits_are_changed_until_they_keep_the_rules_of_the_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
