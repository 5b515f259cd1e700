/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lists: their order, their filters, groups and incidents. */
#include "plugin/failure_list.h"

#include "plugin/table.h"
#include "plugin/testing.h"

static cJSON *list;

#define FAILURE(ns, name, pod, class, ended, more) \
	"{'metadata': {'name': '" name "', 'namespace': '" ns "'}, 'spec': {'pod': '" pod "', 'class': '" class "', 'endedAt': '" ended \
	"', 'cluster': 'demo', 'ownerText': 'RayJob/train', 'verdict': 'V of " name ".', 'signature': 'v1:" class "'}" more "}"

static int setup(void **state)
{
	(void)state;
	list = json_of("{'items': [" FAILURE("ml", "third", "w2", "Segfault", "2026-11-22T11:59:00Z", "") "," FAILURE("ml", "first", "head", "GCSFailed", "2026-11-22T11:00:00Z", ", 'status': {'incident': 'i1', 'consequences': 1}") "," FAILURE(
		"ml", "second", "w1", "GCSLost", "2026-11-22T11:01:00Z",
		", 'status': {'incident': 'i1', 'causedBy': {'name': 'first'}, 'causedByText': 'GCSFailed of the head'}") "," FAILURE("ml",
																      "fourth",
																      "w2",
																      "Segfault",
																      "2026-11-22T11:59:30Z",
																      "") "]}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cJSON_Delete(list);
	return 0;
}

static void the_newest_stands_last(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	assert_int_equal(failure_list(list, &(struct failure_filter){ 0 }, true, NOON_NS, &out), 4);
	assert_true(strstr(strbuf_str(&out), "first") < strstr(strbuf_str(&out), "second"));
	assert_true(strstr(strbuf_str(&out), "second") < strstr(strbuf_str(&out), "third"));
	assert_true(strstr(strbuf_str(&out), "third") < strstr(strbuf_str(&out), "fourth"));
	has(&out, "NAMESPACE");
	has(&out, "30.0 s");
	has(&out, "GCSFailed of the head");
}

static void a_list_is_narrowed_by_all_that_is_asked(void **state)
{
	static const struct {
		struct failure_filter filter;
		size_t n;
	} rows[] = {
		{ { .class = "Segfault" }, 2 },
		{ { .class = "Killed" }, 0 },
		{ { .cluster = "demo" }, 4 },
		{ { .cluster = "other" }, 0 },
		{ { .owner = "RayJob/train", .class = "GCSLost" }, 1 },
		{ { .owner = "RayCluster/train" }, 0 },
		{ { .since_ns = NOON_NS - 60 * NS_PER_SEC }, 2 },
		{ { .since_ns = NOON_NS - 59 * NS_PER_SEC }, 1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);

		assert_int_equal(failure_list(list, &rows[i].filter, false, NOON_NS, &out),
				 rows[i].n);
		assert_true(rows[i].n || out.len == 0);
	}
}

static void a_program_reads_the_same_list_in_the_same_order(void **state)
{
	_cleanup_json_ cJSON *json =
		failure_list_json(list, &(struct failure_filter){ .class = "Segfault" });
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	const cJSON *first = json_get(json, "items")->child;
	(void)state;

	assert_string_equal(json_str(first, "metadata.name"), "third");
	assert_string_equal(json_str(first->next, "metadata.name"), "fourth");
	assert_null(first->next->next);
	document_print(json, "Failures", &out);
	has(&out, "\"apiVersion\":\t\"afterglow.dev/v1alpha1\",\n\t\"kind\":\t\"Failures\"");
}

static void signatures_of_commands_count_commands(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *local = cJSON_Duplicate(list, true);
	(void)state;

	json_set_str(local, "heading", "COMMAND");
	failure_list_signatures(local, &(struct failure_filter){ 0 }, NOON_NS, &out);
	has(&out, "FAILURES   COMMANDS   FIRST");
	lacks(&out, "PODS");
}

static void equal_signatures_are_one_line(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	(void)state;

	assert_int_equal(
		failure_list_signatures(list, &(struct failure_filter){ 0 }, NOON_NS, &out), 3);
	has(&out, "FAILURES   PODS   FIRST        LAST         SIGNATURE");
	has(&out, "2          1      1 min 0 s    30.0 s");
	has(&out, "v1:Segfault    fourth\n");
	_cleanup_json_ cJSON *json =
		failure_list_signatures_json(list, &(struct failure_filter){ 0 });
	const cJSON *twice = json_find(json_get(json, "signatures"), "signature", "v1:Segfault");
	assert_int_equal(cJSON_GetArraySize(json_get(json, "signatures")), 3);
	assert_int_equal(json_int(twice, "failures", 0), 2);
	assert_int_equal(json_int(twice, "pods", 0), 1);
	assert_string_equal(json_str(twice, "example"), "fourth");
}

static void an_incident_begins_with_what_ended_first(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20), none = STRBUF_INIT(1 << 20);
	(void)state;

	assert_int_equal(
		failure_list_incidents(list, &(struct failure_filter){ 0 }, NULL, NOON_NS, &out),
		1);
	has(&out, "Incident i1, namespace ml, cluster demo, 1 h 0 min ago\n  V of first.\n");
	has(&out, "  first             GCSFailed  head  first\n");
	has(&out, "GCSLost  w1  second\n");
	lacks(&out, "third");
	assert_int_equal(
		failure_list_incidents(list, &(struct failure_filter){ 0 }, "i2", NOON_NS, &none),
		0);
	_cleanup_json_ cJSON *json =
		failure_list_incidents_json(list, &(struct failure_filter){ 0 }, NULL);
	const cJSON *incident = json_get(json, "incidents")->child;
	assert_int_equal(cJSON_GetArraySize(json_get(json, "incidents")), 1);
	assert_string_equal(json_str(incident, "incident"), "i1");
	assert_string_equal(json_str(incident, "first.metadata.name"), "first");
	assert_string_equal(json_str(json_get(incident, "followed")->child, "metadata.name"),
			    "second");
	assert_null(json_get(incident, "followed")->child->next);
}

/* Of 5,000 bundles with one name in a shared directory, each would be printed 5,000 times. */
static void incidents_of_one_name_are_one(void **state)
{
	_cleanup_json_ cJSON *same = json_of("{'items': []}"), *json = NULL;
	(void)state;

	for (int i = 0; i < 3; i++)
		json_append(json_array_at(same, "items"),
			    json_of(FAILURE("ml", "x", "head", "GCSFailed", "2026-11-22T11:00:00Z",
					    ", 'status': {'incident': 'x', 'consequences': 1}")));
	json_append(json_array_at(same, "items"),
		    json_of(FAILURE("other", "x", "head", "GCSFailed", "2026-11-22T11:00:00Z",
				    ", 'status': {'incident': 'x', 'consequences': 1}")));
	json = failure_list_incidents_json(same, &(struct failure_filter){ 0 }, NULL);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "incidents")), 2);
	assert_int_equal(
		cJSON_GetArraySize(json_get(json_get(json, "incidents")->child, "followed")), 2);
	assert_int_equal(
		cJSON_GetArraySize(json_get(json_get(json, "incidents")->child->next, "followed")),
		0);
}

static void a_failure_is_found_by_whatever_a_person_holds(void **state)
{
	static const struct {
		const char *name, *failure;
	} rows[] = {
		{ "second", "second" },
		{ "rf/second", "second" },
		{ "RayFailure/second", "second" },
		{ "w2", "fourth" },
		{ "pod/w2", "fourth" },
		/*
		 * The newest end of the job is a consequence: what ended first is what a person
		 * asks for.
		 */
		{ "RayJob/train", "head-oom" },
		{ "rayjob/train", "head-oom" },
		{ "rayjob.ray.io/train", "head-oom" },
		{ "rayfailure.afterglow.dev/second", "second" },
		{ "demo", "head-oom" },
		{ "RayCluster/demo", "head-oom" },
		{ "demo-head", "head-oom" },
		{ "10.0.0.7", "driver" },
		{ "a1b2c3", "driver" },
		{ "d4e5f6", "driver" },
		/* An end without a cause that is still there is shown itself. */
		{ "lost", "orphan" },
	};
	_cleanup_json_ cJSON *all = json_of(
		"{'items': [" FAILURE("ml", "driver", "demo-driver-q", "RayJobFailed", "2026-11-22T11:59:50Z", ", 'status': {'incident': 'i9', 'causedBy': {'name': 'head-oom'}}") "," FAILURE(
			"ml", "second", "w1", "GCSLost", "2026-11-22T11:01:00Z",
			"") "," FAILURE("ml", "fourth", "w2", "Segfault", "2026-11-22T11:30:00Z",
					"") "," FAILURE("ml", "head-oom", "demo-head-x7k2p",
							"KernelOOMPod", "2026-11-22T11:59:40Z",
							", 'status': {'incident': 'i9'}") "," FAILURE("other",
												      "head-oom",
												      "x",
												      "Killed",
												      "2026-11-22T11:00:40Z",
												      ", 'status': {'incident': 'i9'}") ",{'metadata': {'name': 'orphan', 'namespace': 'ml'}, 'spec': {'cluster': 'lost'}, 'status': {'causedBy': {'name': 'gone'}}}]}");
	cJSON *spec = json_get(json_get(all, "items")->child, "spec");
	(void)state;

	json_set_str(spec, "podIP", "10.0.0.7");
	json_set_str(spec, "rayNodeID", "a1b2c3");
	json_set_str(json_object_at(spec, "process"), "workerID", "d4e5f6");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const cJSON *found = failure_find(all, rows[i].name);

		if (!json_is(found, "metadata.name", rows[i].failure) ||
		    !json_is(found, "metadata.namespace", "ml"))
			fail_msg("%s: %s/%s", rows[i].name, json_str(found, "metadata.namespace"),
				 json_str(found, "metadata.name"));
	}
	assert_null(failure_find(all, "nobody"));
	assert_null(failure_find(all, "demo-hea"));
	assert_null(failure_find(all, ""));
	assert_null(failure_find(all, "pod/"));
}

static void malformed_items_are_listed_with_what_they_have(void **state)
{
	_cleanup_json_ cJSON *odd = json_of(
		"{'items': [{}, 3, null, {'spec': {'endedAt': 7, 'exitCode': 'x'}, 'status': 'y'}]}");
	_cleanup_json_ cJSON *none = json_of("{'items': {}}");
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	struct failure_filter all = { 0 };
	(void)state;

	assert_int_equal(failure_list(odd, &all, true, NOON_NS, &out), 4);
	assert_int_equal(failure_list_signatures(odd, &all, NOON_NS, &out), 1);
	assert_int_equal(failure_list_incidents(odd, &all, NULL, NOON_NS, &out), 0);
	assert_int_equal(failure_list(none, &all, true, NOON_NS, &out), 0);
	assert_int_equal(failure_list(NULL, &all, true, NOON_NS, &out), 0);
	assert_null(failure_find(odd, "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_newest_stands_last, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_is_narrowed_by_all_that_is_asked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_program_reads_the_same_list_in_the_same_order,
						setup, teardown),
		cmocka_unit_test_setup_teardown(signatures_of_commands_count_commands, setup, teardown),
		cmocka_unit_test_setup_teardown(equal_signatures_are_one_line, setup, teardown),
		cmocka_unit_test_setup_teardown(an_incident_begins_with_what_ended_first, setup,
						teardown),
		cmocka_unit_test(incidents_of_one_name_are_one),
		cmocka_unit_test(a_failure_is_found_by_whatever_a_person_holds),
		cmocka_unit_test(malformed_items_are_listed_with_what_they_have),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
