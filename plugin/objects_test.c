/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the text of `objects`. The answers are what the script printed of Ray 2.60, shortened;
 * e2e/cases/cluster runs it in a pod.
 */
#include "plugin/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "plugin/objects_growth.h"
#include "plugin/testing.h"

#define PROCESS(pid, ip) "{'ip': '" ip "', 'pid': " #pid "}"
#define GROUP(made, site, rest) "{'madeBy': '" made "', 'site': '" site "', 'objects': 5, 'bytes': 40001265, 'sizeUnknown': 0, " rest "}"
#define ANSWER(sites, references, groups)                                                                     \
	"{'store': ['Plasma memory usage 76 MiB, 6 objects, 38.15% full, 38.15% needed'], 'references': " #references \
	", 'referencesMax': 10000, 'sites': " sites ", 'groups': [" groups "]}"

static void text_is(const char *answer, const char *expected)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *json = json_of(answer);

	objects_text(json, &out);
	assert_string_equal(strbuf_str(&out), expected);
}

static void a_line_of_code_is_listed_with_all_processes_that_keep_its_objects(void **state)
{
	(void)state;
	text_is(ANSWER("true", 24,
		       GROUP("ray.put", "/tmp/run.py:<listcomp>:8",
			     "'holders': [{'how': 'PINNED_IN_MEMORY', 'site': '/tmp/run.py:take:5', 'type': 'WORKER', 'processes': [" PROCESS(
				     393,
				     "10.0.0.2") ", " PROCESS(394,
							      "10.0.0.2") ", " PROCESS(12,
										       "10.0.0.3") "]},"
												   "{'how': 'LOCAL_REFERENCE', 'site': '', 'type': 'DRIVER', 'processes': [" PROCESS(
													   10,
													   "10.0.0.1") "]}]")),
		"Plasma memory usage 76 MiB, 6 objects, 38.15% full, 38.15% needed\n"
		"\n38.1 MiB in 5 objects, made by ray.put at /tmp/run.py:<listcomp>:8\n"
		"   kept by 3 workers: values that were read from it, at /tmp/run.py:take:5; PID 393, 394 on 10.0.0.2, 12 on 10.0.0.3\n"
		"   kept by 1 driver: an ObjectRef; PID 10 on 10.0.0.1\n");
}

static void without_lines_of_code_the_text_names_the_owner_and_how_ray_records_them(void **state)
{
	(void)state;
	text_is(ANSWER("false", 5,
		       GROUP("", "",
			     "'owner': {'type': 'DRIVER', 'ip': '10.0.0.1', 'pid': 10}, 'holders': [{'how': 'USED_BY_PENDING_TASK', "
			     "'site': '', 'type': 'DRIVER', 'processes': [" PROCESS(
				     10, "10.0.0.1") "]}]")),
		"Plasma memory usage 76 MiB, 6 objects, 38.15% full, 38.15% needed\n"
		"\n38.1 MiB in 5 objects, owned by the driver 10 on 10.0.0.1\n"
		"   kept by 1 driver: an argument of a task that has not finished; PID 10 on 10.0.0.1\n"
		"\nRay did not record which lines of code made the objects. It does when all pods of the cluster have the\n"
		"environment variable RAY_record_ref_creation_sites=1; that costs some time for each object.\n");
}

static void the_text_counts_what_it_leaves_out_and_escapes_a_tenants_text(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *json = json_of(ANSWER("true", 10000, ""));
	cJSON *holders = NULL;
	(void)state;

	for (int i = 0; i < 21; i++)
		json_append(
			json_array_at(json, "groups"),
			json_of("{'madeBy': 'task', 'site': '/a\\u001b[2J.py:f:1', 'objects': 1, 'bytes': 5, "
				"'sizeUnknown': 1, 'holders': []}"));
	holders = json_array_at(json_array_at(json, "groups")->child, "holders");
	for (int i = 0; i < 7; i++) {
		cJSON *holder = json_of(
			"{'how': 'NEW', 'site': '', 'type': 'SPILL_WORKER', 'processes': []}");

		for (int pid = 1; pid < 11; pid++)
			json_append(json_array_at(holder, "processes"), json_of(PROCESS(7, "::1")));
		json_append(holders, holder);
	}
	objects_text(json, &out);
	has(&out,
	    "5 B in 1 object (the size of 1 is not known), returned by a task that was called at /a?[2J.py:f:1\n"
	    "   kept by 10 other processes: Ray does not say how; PID 7, 7, 7, 7, 7, 7, 7, 7 on ::1 and 2 more\n");
	has(&out, "   and 1 more such lines; --output json has all\n");
	has(&out, "\n1 smaller groups are left out; --output json has all.\n");
	has(&out,
	    "\nRay was asked for 10000 references and there may be more, so these sums are at least so large.\n");
	lacks(&out, "No process holds an object");
}

static void an_empty_store_and_an_answer_without_members_are_no_groups(void **state)
{
	(void)state;
	text_is(ANSWER("true", 0, ""),
		"Plasma memory usage 76 MiB, 6 objects, 38.15% full, 38.15% needed\n\nNo process holds an object.\n");
	text_is("{}", "\nNo process holds an object.\n");
}

static void nodes_that_did_not_answer_may_hold_more(void **state)
{
	(void)state;
	text_is("{'missing': 'Failed to query data from raylet. 1/2 raylet\\u001b failed', 'groups': []}",
		"\nMore objects may be held, as not all nodes answered. Ray says: Failed to query data from raylet. 1/2 raylet? failed\n");
}

static void growth_since_an_earlier_answer_is_said_the_most_grown_first(void **state)
{
#define OF(site, objects, bytes, rest) "{'madeBy': 'task', 'site': '" site "', 'objects': " #objects ", 'bytes': " #bytes rest "}"
#define OWNED(pid) ", 'owner': {'type': 'WORKER', 'ip': '::1', 'pid': " #pid "}"
	static const struct {
		const char *before, *text;
	} rows[] = {
		{ "{'groups': [" OF("a", 5, 5242880, "") ", " OF("b", 1, 1048576, "") ", " OF("", 1, 1000, OWNED(7)) "]}",
		  "\n2.0 MiB in 2 objects (before: 1.0 MiB in 1), returned by a task that was called at b\n"
		  "\n1000 B in 1 object (before: none), returned by a task that was called, owned by process 8 on ::1\n"
		  "\n1000 B in 1 object (before: 1000 B in 1), returned by a task that was called, owned by process 7 on ::1\n"
		  "\n4.0 MiB in 4 objects (before: 5.0 MiB in 5), returned by a task that was called at a\n" },
		{ "{'groups': 7}", "\n4.0 MiB in 4 objects (before: none), returned by a task that was called at a\n"
				   "\n2.0 MiB in 2 objects (before: none), returned by a task that was called at b\n"
				   "\n1000 B in 1 object (before: none), returned by a task that was called, owned by process 7 on ::1\n"
				   "\n1000 B in 1 object (before: none), returned by a task that was called, owned by process 8 on ::1\n" },
	};
	static const char *const partial[] = {
		"{'missing': 'Queried 2 of 3 nodes.'}",
		"{'references': 10000, 'referencesMax': 10000}",
		"{'sites': false}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
		_cleanup_json_ cJSON *before = json_of(rows[i].before);
		_cleanup_json_ cJSON *answer = json_of(
			"{'groups': [" OF("a", 4, 4194304, "") ", " OF("b", 2, 2097152, "") ", " OF(
				"", 1, 1000, OWNED(7)) ", " OF("", 1, 1000, OWNED(8)) "]}");

		objects_compare(answer, before);
		objects_text(answer, &out);
		assert_string_equal(strbuf_str(&out), rows[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(partial); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
		_cleanup_json_ cJSON *before = json_of(partial[i]),
				     *answer = json_of("{'groups': [" OF("a", 4, 4194304, "") "]}");

		objects_compare(answer, before);
		objects_text(answer, &out);
		assert_non_null(
			strstr(strbuf_str(&out),
			       "\nThe earlier answer does not name all objects and lines of code"));
	}
}

static void hostile_answers_are_compared(void **state)
{
	static const char *const answers[] = {
		"{}", "[]", "{'groups': [1, null, [], {}, {'bytes': -1e300}, {'bytes': 1e300, 'objects': 'x', 'owner': 7}]}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(answers) * ARRAY_SIZE(answers); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
		_cleanup_json_ cJSON *before = json_of(answers[i % ARRAY_SIZE(answers)]);
		_cleanup_json_ cJSON *answer = json_of(answers[i / ARRAY_SIZE(answers)]);
		int n = cJSON_GetArraySize(cJSON_GetObjectItem(answer, "groups"));

		objects_compare(answer, before);
		assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(answer, "groups")), n);
		objects_text(answer, &out);
	}
}

static void an_answer_that_would_fill_the_memory_is_not_read_to_its_end(void **state)
{
	static const char script[] =
		"#!/bin/sh\n"
		"case $1 in\n"
		"get) echo '{\"metadata\": {\"name\": \"p\"}, \"status\": {\"phase\": \"Running\"}}' ;;\n"
		"*) echo '{}'; head -c 17000000 /dev/zero | tr '\\0' ' ' ;;\n"
		"esac\n";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	const struct options o = { .argument = "pod/p" };
	char place[] = "/tmp/objects_test.XXXXXX", program[64];
	struct err err = { 0 };
	(void)state;

	assert_non_null(mkdtemp(place));
	snprintf(program, sizeof(program), "%s/kubectl", place);
	assert_int_equal(file_put(AT_FDCWD, program, script, strlen(script), 0700, NULL), 0);
	setenv("KUBECTL", program, true);
	assert_int_equal(objects_command(&o, &out, &err), -EFBIG);
	tree_remove(AT_FDCWD, place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_code_is_listed_with_all_processes_that_keep_its_objects),
		cmocka_unit_test(
			without_lines_of_code_the_text_names_the_owner_and_how_ray_records_them),
		cmocka_unit_test(the_text_counts_what_it_leaves_out_and_escapes_a_tenants_text),
		cmocka_unit_test(nodes_that_did_not_answer_may_hold_more),
		cmocka_unit_test(growth_since_an_earlier_answer_is_said_the_most_grown_first),
		cmocka_unit_test(hostile_answers_are_compared),
		cmocka_unit_test(an_answer_that_would_fill_the_memory_is_not_read_to_its_end),
		cmocka_unit_test(an_empty_store_and_an_answer_without_members_are_no_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
