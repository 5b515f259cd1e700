/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the needs of a container as JSON. */
#include "sidecar/ending/memory_needs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "sidecar/http/live_memory.h"
#include "sidecar/sample/processes_internal.h"

#define MIB ((int64_t)1 << 20)

/* The caller frees both; the table has no processes, only what its tasks have needed. */
static struct observer *observer_make(struct process_table **ret_table)
{
	struct observer *o = calloc(1, sizeof(*o));
	struct process_table *t = calloc(1, sizeof(*t));

	assert_true(o && t);
	o->table = t;
	o->node = RAY_NODE_UNKNOWN;
	*ret_table = t;
	return o;
}

static void samples_leave_the_most_of_each_kind(void **state)
{
	_cleanup_free_ struct process_table *table = NULL;
	_cleanup_free_ struct observer *o = observer_make(&table);
	(void)state;

	_cleanup_json_ cJSON *none = memory_needs_json(o);
	assert_true(cJSON_IsNull(none));
	memory_most_add(&o->most, &(struct memory){ .usage = 900 * MIB,
						    .inactive_file = 100 * MIB,
						    .anon = 500 * MIB,
						    .file = 200 * MIB,
						    .shmem = 90 * MIB,
						    .kernel = -1 });
	memory_most_add(&o->most, &(struct memory){ .usage = 600 * MIB,
						    .inactive_file = 0,
						    .anon = 100 * MIB,
						    .file = 10 * MIB,
						    .shmem = 400 * MIB,
						    .kernel = -1 });
	o->last.memory.limit = 1024 * MIB;
	o->node.cpus = 2500;
	_cleanup_json_ cJSON *json = memory_needs_json(o);
	assert_int_equal(json_int(json, "peaks.workingSetBytes", 0), 800 * MIB);
	assert_int_equal(json_int(json, "peaks.anonBytes", 0), 500 * MIB);
	assert_int_equal(json_int(json, "peaks.fileBytes", 0), 200 * MIB);
	assert_int_equal(json_int(json, "peaks.shmemBytes", 0), 400 * MIB);
	assert_true(cJSON_IsNull(json_get(json, "peaks.kernelBytes")));
	assert_true(cJSON_IsNull(json_get(json, "peaks.besideTasksBytes")));
	assert_true(json_get(json, "node.cpus")->valuedouble == 2.5);
	assert_true(cJSON_IsNull(json_get(json, "node.memoryBytes")));
	assert_int_equal(json_int(json, "limitBytes", 0), 1024 * MIB);
	assert_non_null(json_str(json, "since"));
	assert_int_equal(cJSON_GetArraySize(json_get(json, "tasks")), 0);
}

static void a_task_has_its_runs_by_what_they_held(void **state)
{
	_cleanup_free_ struct task_memory *tasks = calloc(1, sizeof(*tasks));
	_cleanup_free_ struct process_table *table = NULL;
	_cleanup_free_ struct observer *o = observer_make(&table);
	const cJSON *task;
	(void)state;

	memory_most_add(&o->most, &MEMORY_ABSENT);
	table->tasks = tasks;
	for (int i = 0; i < 3; i++) {
		unsigned int place = task_memory_begin(tasks, "ray::load");

		task_memory_raise(tasks, place, 0, i == 0 ? 100 * MIB : 500 * MIB);
		task_memory_swept(tasks, 70 * MIB);
		task_memory_end(tasks, place);
	}
	_cleanup_json_ cJSON *json = memory_needs_json(o);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "tasks")), 1);
	task = json_get(json, "tasks")->child;
	assert_string_equal(json_str(task, "name"), "ray::load");
	assert_int_equal(json_int(task, "runs", 0), 3);
	assert_int_equal(json_int(task, "atOnce", 0), 1);
	assert_int_equal(json_int(task, "peakBytes", 0), 500 * MIB);
	_cleanup_free_ char *by_peak = cJSON_PrintUnformatted(json_get(task, "runsByPeak"));
	/* No bucket ends above the peak. */
	assert_string_equal(by_peak, "[[112863232,1],[524288000,2]]");
	assert_int_equal(json_int(json, "peaks.besideTasksBytes", 0), 70 * MIB);
	assert_true(cJSON_IsNull(json_get(json, "otherTasks")));
	/* Processes that were forked a moment ago show the memory of their parent again. */
	o->most.anon = 50 * MIB;
	_cleanup_json_ cJSON *less = memory_needs_json(o);
	assert_int_equal(json_int(less, "peaks.besideTasksBytes", 0), 50 * MIB);
}

static void the_longest_needs_fit_into_an_answer(void **state)
{
	_cleanup_free_ struct task_memory *tasks = calloc(1, sizeof(*tasks));
	_cleanup_free_ struct process_table *table = NULL;
	_cleanup_free_ struct observer *o = observer_make(&table);
	_cleanup_free_ char *text = NULL;
	(void)state;

	memory_most_add(&o->most, &MEMORY_ABSENT);
	table->tasks = tasks;
	tasks->n = TASK_NAMES_MAX;
	for (unsigned int i = 0; i <= TASK_OTHERS; i++) {
		tasks->list[i] = (struct task_need){ .runs = INT64_MAX,
						     .at_once = UINT32_MAX,
						     .peak = INT64_MAX };
		memset(tasks->list[i].name, 1, PROCESS_NAME_MAX - 1);
		for (unsigned int j = 0; j < TASK_BUCKETS; j++)
			tasks->list[i].by_peak[j] = UINT32_MAX;
	}
	_cleanup_json_ cJSON *json = memory_needs_json(o);
	text = cJSON_PrintUnformatted(json);
	assert_in_range(strlen(text) * LIVE_MEMORY_NEEDS_MAX, 100000, LIVE_MEMORY_JSON_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_leave_the_most_of_each_kind),
		cmocka_unit_test(a_task_has_its_runs_by_what_they_held),
		cmocka_unit_test(the_longest_needs_fit_into_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
