/* SPDX-License-Identifier: Apache-2.0 */
/* Deaths of one session of Ray are joined, and no others. */
#include "plugin/local_incidents.h"

#include <stdio.h>

#include "lib/macros.h"
#include "plugin/testing.h"

struct death_row {
	const char *class, *node, *session;
	int at_s;
	const char *more;  /* members of the spec */
	const char *cause; /* what status.causedByText is; NULL: none */
};

static cJSON *failures_of(const struct death_row *rows, size_t n)
{
	cJSON *all = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++) {
		char text[1024];

		snprintf(
			text, sizeof(text),
			"{'metadata': {'name': 'death-%zu'}, 'spec': {'bundle': '/shared/%zu', 'class': '%s', 'node': '%s', 'run': '%s/ray/1', "
			"'container': 'ray', 'pod': 'ray@%s', 'endedAt': '2026-11-22T12:00:%02dZ', 'exitCode': 1%s%s%s%s}}",
			i, i, rows[i].class, rows[i].node, rows[i].node, rows[i].node, rows[i].at_s,
			rows[i].session ? ", 'raySession': '" : "",
			rows[i].session ? rows[i].session : "", rows[i].session ? "'" : "",
			rows[i].more ? rows[i].more : "");
		json_append(all, json_of(text));
	}
	return all;
}

#define HEAD ", 'rayHead': true"
#define LIVES ", 'containerLives': true"

static void a_death_has_the_cause_that_the_operator_would_name(void **state)
{
	static const struct death_row rows[] = {
		{ "GCSFailed", "node1", "s1", 0, HEAD, NULL },
		{ "GCSLost", "node2", "s1", 20, NULL, "GCSFailed of the head" },
		{ "ApplicationError", "node3", "s1", 25, NULL, "GCSFailed of the head" },
		/*
		 * Another cluster on the same machines, and a command that is no part of a cluster.
		 */
		{ "GCSLost", "node2", "s2", 20, NULL, NULL },
		{ "GCSLost", "node4", NULL, 20, NULL, NULL },
		/* A process and its own command. */
		{ "RayletFailed", "node5", "s3", 30, LIVES ", 'process': {'name': 'raylet', 'pid': 7, 'signal': 'SIGKILL'}", NULL },
		{ "ApplicationError", "node5", "s3", 32, NULL, "RayletFailed of its command" },
		{ "Segfault", "node6", "s3", 33, NULL, NULL },
		{ "NCCLError", "node7", "s4", 40, LIVES ", 'process': {'name': 'ray::f', 'pid': 8}", "Segfault of another command" },
		{ "Segfault", "node8", "s4", 39, NULL, NULL },
		/* A later program wrote it, or the file is damaged. */
		{ "NoSuchClass", "node2", "s1", 20, NULL, NULL },
	};
	_cleanup_json_ cJSON *all = failures_of(rows, ARRAY_SIZE(rows));

	(void)state;
	local_incidents_join(all);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const cJSON *failure = cJSON_GetArrayItem(all, (int)i);
		const char *text = json_str(failure, "status.causedByText");

		if (!rows[i].cause ? text != NULL :
				     !json_is(failure, "status.causedByText", rows[i].cause))
			fail_msg("%s of %s: %s", rows[i].class, rows[i].node,
				 text ? text : "no cause");
	}
	const cJSON *first = cJSON_GetArrayItem(all, 0), *second = cJSON_GetArrayItem(all, 1);
	assert_int_equal(json_int(first, "status.consequences", -1), 2);
	assert_string_equal(json_str(first, "status.incident"), "death-0");
	assert_string_equal(json_str(second, "status.incident"), "death-0");
	assert_string_equal(json_str(second, "status.causedBy.pod"), "ray@node1");
}

static void what_is_no_list_of_failures_is_left_alone(void **state)
{
	_cleanup_json_ cJSON *none = cJSON_CreateArray(),
			     *odd = json_of("[7, {}, {'spec': {'raySession': 3}}, {'spec': null}]");

	(void)state;
	local_incidents_join(none);
	local_incidents_join(odd);
	local_incidents_join(NULL);
	assert_int_equal(cJSON_GetArraySize(odd), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_death_has_the_cause_that_the_operator_would_name),
		cmocka_unit_test(what_is_no_list_of_failures_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
