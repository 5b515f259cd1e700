/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of adding up what containers have needed. */
#include "lib/memory_needs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"

static cJSON *json_in(const char *text)
{
	cJSON *json = cJSON_Parse(text);

	if (!json)
		fail_msg("%s", text);
	return json;
}

#define PEAKS(anon) "\"peaks\": {\"workingSetBytes\": 900, \"anonBytes\": " anon "}"

static void two_containers_are_one_sum(void **state)
{
	_cleanup_json_ cJSON *
		one = json_in(
		       "{\"since\": \"2026-11-27T10:00:00Z\", \"limitBytes\": 2000, \"node\": {\"cpus\": 2, \"memoryBytes\": null}, " PEAKS(
			       "700") ", \"tasks\": [{\"name\": \"ray::load\", \"runs\": 3, \"atOnce\": 2, \"peakBytes\": 500, "
				      "\"runsByPeak\": [[400, 2], [500, 1]]}], \"otherTasks\": null}"),
	       *two = json_in("{\"since\": \"2026-11-27T09:00:00Z\", \"limitBytes\": 1000, \"node\": {\"cpus\": 4}, " PEAKS(
		       "600") ", \"tasks\": [{\"name\": \"ray::load\", \"runs\": 1, \"atOnce\": 1, \"peakBytes\": 600, \"runsByPeak\": [[450, 1]]}, "
			      "{\"name\": \"ray::Keeper\", \"runs\": 1, \"atOnce\": 1, \"peakBytes\": 90, \"runsByPeak\": [[90, 1]]}]}"),
	       *sum = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	(void)state;

	assert_true(memory_needs_add(sum, one, MEMORY_NEEDS_KEPT));
	assert_true(memory_needs_add(sum, two, MEMORY_NEEDS_KEPT));
	text = cJSON_PrintUnformatted(sum);
	assert_string_equal(
		text,
		"{\"since\":\"2026-11-27T09:00:00Z\",\"containers\":2,\"limitBytes\":1000,\"node\":{\"cpus\":4},"
		"\"peaks\":{\"workingSetBytes\":900,\"anonBytes\":700},\"tasks\":["
		"{\"name\":\"ray::load\",\"runsByPeak\":[[400,2],[450,1],[500,1]],\"runs\":4,\"atOnce\":2,\"peakBytes\":600},"
		"{\"name\":\"ray::Keeper\",\"runsByPeak\":[[90,1]],\"runs\":1,\"atOnce\":1,\"peakBytes\":90}]}");
}

static void a_sum_is_added_like_a_container(void **state)
{
	_cleanup_json_ cJSON *sum = cJSON_CreateObject(), *all = cJSON_CreateObject(),
			     *one = json_in("{" PEAKS("1") "}");
	(void)state;

	memory_needs_add(sum, one, MEMORY_NEEDS_KEPT);
	memory_needs_add(sum, one, MEMORY_NEEDS_KEPT);
	memory_needs_add(all, one, MEMORY_NEEDS_KEPT);
	memory_needs_add(all, sum, MEMORY_NEEDS_KEPT);
	assert_int_equal(json_int(all, "containers", 0), 3);
}

static void what_needs_least_is_put_together_and_no_run_is_lost(void **state)
{
	_cleanup_json_ cJSON *needs = json_in("{" PEAKS("1") "}"), *sum = cJSON_CreateObject();
	cJSON *tasks = json_array_at(needs, "tasks");
	int64_t runs = 0;
	(void)state;

	for (int i = 0; i < 60; i++) {
		char text[200];

		snprintf(
			text, sizeof(text),
			"{\"name\": \"ray::t%d\", \"runs\": 20, \"peakBytes\": %d, \"runsByPeak\": [[1,5],[2,5],[3,1],[4,1],[5,1],[6,1],"
			"[7,1],[8,1],[9,2],[%d,2]]}",
			i, 100 + i, 100 + i);
		json_append(tasks, json_in(text));
	}
	memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT);
	assert_int_equal(cJSON_GetArraySize(json_get(sum, "tasks")), MEMORY_NEEDS_NAMES_MAX);
	json_each(task, json_get(sum, "tasks")) {
		int64_t counted = 0;

		assert_true(json_int(task, "peakBytes", 0) >= 100 + 60 - MEMORY_NEEDS_NAMES_MAX);
		assert_int_equal(cJSON_GetArraySize(json_get(task, "runsByPeak")),
				 MEMORY_NEEDS_COUNTS_MAX);
		json_each(pair, json_get(task, "runsByPeak"))
			counted += (int64_t)pair->child->next->valuedouble;
		assert_int_equal(counted, 20);
		runs += json_int(task, "runs", 0);
	}
	assert_int_equal(runs + json_int(sum, "otherTasks.runs", 0), 60 * 20);
	/* The largest count of a name stays its largest. */
	assert_int_equal(json_int(sum, "otherTasks.peakBytes", 0),
			 100 + 59 - MEMORY_NEEDS_NAMES_MAX);
}

static void more_names_than_a_sidecar_writes_are_not_read(void **state)
{
	_cleanup_json_ cJSON *needs = json_in("{" PEAKS("1") "}"), *sum = cJSON_CreateObject();
	int64_t runs;
	(void)state;

	for (int i = 0; i < 5000; i++) {
		char text[64];

		snprintf(text, sizeof(text), "{\"name\": \"t%d\", \"runs\": 1}", i);
		json_append(json_array_at(needs, "tasks"), json_in(text));
	}
	memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT);
	runs = json_int(sum, "otherTasks.runs", 0);
	json_each(task, json_get(sum, "tasks"))
		runs += json_int(task, "runs", 0);
	assert_int_equal(runs, 64);
}

static void a_message_has_what_needs_most_and_fits(void **state)
{
	_cleanup_json_ cJSON *needs = json_in("{" PEAKS("1") "}"), *sum = cJSON_CreateObject(),
			     *read = NULL;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	(void)state;

	for (int i = 0; i < 40; i++) {
		char text[300];

		snprintf(
			text, sizeof(text),
			"{\"name\": \"ray::a_name_of_a_task_that_is_forty_letters_%02d\", \"runs\": 9, \"peakBytes\": %d000000000, "
			"\"runsByPeak\": [[123456789,3],[223456789,3],[423456789,3]]}",
			i, i + 1);
		json_append(json_array_at(needs, "tasks"), json_in(text));
	}
	memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT);
	memory_needs_message(sum, &out);
	assert_true(out.len > 1500 && out.len <= MEMORY_NEEDS_MESSAGE_MAX);
	assert_memory_equal(strbuf_str(&out), MEMORY_NEEDS_MARK, strlen(MEMORY_NEEDS_MARK));
	read = json_in(strbuf_str(&out) + strlen(MEMORY_NEEDS_MARK));
	assert_non_null(json_find(json_get(read, "tasks"), "name",
				  "ray::a_name_of_a_task_that_is_forty_letters_39"));
	assert_null(json_find(json_get(read, "tasks"), "name",
			      "ray::a_name_of_a_task_that_is_forty_letters_02"));
	assert_true(json_int(read, "otherTasks.runs", 0) > 0);
}

static void what_has_another_form_is_left_out(void **state)
{
	static const char *const refused[] = { "3", "[]", "{}", "{\"peaks\": []}",
					       "{\"peaks\": null}" };
	static const char *const empty[] = {
		PEAKS("-1"), PEAKS("\"x\"") ", \"tasks\": {\"a\": 1}", PEAKS("null") ", \"tasks\": [7, null, {}, {\"name\": 4}, {\"name\": \"0123456789012345678901234567890123456789012345678901234567890123\", \"runs\": 1}]",
		PEAKS("1") ", \"tasks\": [{\"name\": \"a\", \"runs\": -3, \"runsByPeak\": [1, [], [1], [1, 0], [1, 2, 3], [\"x\", 1], [-1, 1]]}]",
		PEAKS("1") ", \"otherTasks\": [], \"containers\": \"x\", \"since\": 4, \"node\": 3",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		_cleanup_json_ cJSON *needs = json_in(refused[i]), *sum = cJSON_CreateObject();

		assert_false(memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT));
		assert_null(sum->child);
	}
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *needs = NULL, *sum = cJSON_CreateObject();

		strbuf_addf(&text, "{%s}", empty[i]);
		needs = json_in(strbuf_str(&text));
		assert_true(memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT));
		json_each(task, json_get(sum, "tasks")) {
			assert_null(json_get(task, "runs"));
			assert_int_equal(cJSON_GetArraySize(json_get(task, "runsByPeak")), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_containers_are_one_sum),
		cmocka_unit_test(a_sum_is_added_like_a_container),
		cmocka_unit_test(what_needs_least_is_put_together_and_no_run_is_lost),
		cmocka_unit_test(more_names_than_a_sidecar_writes_are_not_read),
		cmocka_unit_test(a_message_has_what_needs_most_and_fits),
		cmocka_unit_test(what_has_another_form_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
