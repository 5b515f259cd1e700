/* SPDX-License-Identifier: Apache-2.0 */
#include "operator/failures/infeasible.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "operator/testing.h"

#define HEAD "{\"head\":{\"limit\":\"4Gi\",\"set\":{\"rayStartParams.num-cpus\":\"0\"}}"
#define WORKERS ",\"workers\":{\"small\":{\"limit\":\"2Gi\",\"set\":{\"limits.memory\":\"2Gi\",\"rayStartParams.memory\":\"1288490189\"}}}"

static cJSON *cluster_with(const char *annotation)
{
	cJSON *cluster = json_of(
		"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: demo, namespace: ml, uid: c1, annotations: {}}}");

	cJSON_AddStringToObject(json_get(cluster, "metadata.annotations"), MEMORY_SAFETY_ANNOTATION,
				annotation);
	return cluster;
}

static void an_event_names_the_settings_that_the_request_needs(void **state)
{
	_cleanup_json_ cJSON *cluster = cluster_with(HEAD WORKERS "}");
	_cleanup_json_ cJSON *event =
		infeasible_event(cluster, cluster, "{'CPU': 1.0, 'memory': 1363148800.0}", 1);

	(void)state;
	assert_string_equal(json_str(event, "type"), "Warning");
	assert_string_equal(json_str(event, "reason"), "RequestInfeasible");
	assert_string_equal(json_str(event, "regarding.uid"), "c1");
	assert_string_equal(
		json_str(event, "note"),
		"Ray has said for a minute that its nodes cannot fulfill a request for {'CPU': 1.0, 'memory': 1363148800.0}. Memory safety has "
		"set what may be why: num-cpus \"0\" of the head, memory \"1288490189\" of small. A value of yours in rayStartParams wins "
		"over it, and the annotation afterglow.dev/memory: \"off\" makes new clusters do without.");
}

static void there_is_no_event_where_memory_safety_is_not_why(void **state)
{
	static const struct {
		const char *annotation, *request;
	} rows[] = {
		{ HEAD "}", "{'memory': 1363148800.0}" },
		{ HEAD WORKERS "}", "{'GPU': 1.0}" },
		{ "{\"head\":{\"set\":{\"rayStartParams.num-cpus\":0}}}", "{'CPU': 1.0}" },
		{ "{\"head\":[\"rayStartParams.num-cpus\"],\"workers\":7}", "{'CPU': 1.0}" },
		{ "{", "{'CPU': 1.0}" },
		{ "", "{'CPU': 1.0}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_json_ cJSON *cluster = cluster_with(rows[i].annotation);

		assert_null(infeasible_event(cluster, cluster, rows[i].request, 1));
	}
}

static void hostile_names_and_values_make_no_line_and_no_endless_text(void **state)
{
	char annotation[4096] = "{\"workers\":{";
	_cleanup_json_ cJSON *cluster = NULL, *event = NULL;

	(void)state;
	for (int i = 0; i < 40; i++)
		snprintf(annotation + strlen(annotation), sizeof(annotation) - strlen(annotation),
			 "%s\"g\\n%d\":{\"set\":{\"rayStartParams.memory\":\"1\\n2\"}}",
			 i ? "," : "", i);
	snprintf(annotation + strlen(annotation), sizeof(annotation) - strlen(annotation), "}}");
	cluster = cluster_with(annotation);
	event = infeasible_event(cluster, cluster, "{'memory': 1.0}", 1);
	assert_non_null(event);
	assert_null(strchr(json_str(event, "note"), '\n'));
	assert_true(strlen(json_str(event, "note")) < 1000);
	assert_non_null(strstr(json_str(event, "note"), " of g?7, "));
	assert_non_null(strstr(json_str(event, "note"), ", and others. A value of yours"));
}

static void only_a_warning_of_that_kind_is_taken(void **state)
{
	static const struct {
		const char *warnings, *request;
	} rows[] = {
		{ "[{kind: MemoryGrowing}, {kind: RequestInfeasible, request: \"{'CPU': 8.0}\"}]", "{'CPU': 8.0}" },
		{ "[{kind: RequestInfeasible}]", "" },
		{ "[{kind: RequestInfeasible, request: 1}]", "" },
		{ "[1, null, []]", "" },
		{ "{}", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_json_ cJSON *warnings = json_of(rows[i].warnings);
		char request[INFEASIBLE_REQUEST_MAX];

		infeasible_take(warnings, request);
		assert_string_equal(request, rows[i].request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_names_the_settings_that_the_request_needs),
		cmocka_unit_test(there_is_no_event_where_memory_safety_is_not_why),
		cmocka_unit_test(hostile_names_and_values_make_no_line_and_no_endless_text),
		cmocka_unit_test(only_a_warning_of_that_kind_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
