/* SPDX-License-Identifier: Apache-2.0 */
/* Makes JSON of what a container and its tasks have needed so far. */
#include "sidecar/ending/memory_needs.h"

#include "lib/json.h"
#include "sidecar/report/report_json.h"

static cJSON *json_of_task(const struct task_need *need, bool named)
{
	cJSON *json = named ? json_named_new(need->name) : cJSON_CreateObject(), *by_peak;

	json_set_int(json, "runs", (int64_t)need->runs);
	json_set_int(json, "atOnce", need->at_once);
	json_set_int(json, "peakBytes", need->peak);
	by_peak = json_array_at(json, "runsByPeak");
	for (unsigned int i = 0; i < TASK_BUCKETS; i++) {
		if (!need->by_peak[i])
			continue;
		cJSON *pair = cJSON_CreateArray();
		json_append(pair, cJSON_CreateNumber((double)MIN(task_bucket_top(i), need->peak)));
		json_append(pair, cJSON_CreateNumber(need->by_peak[i]));
		json_append(by_peak, pair);
	}
	return json;
}

static void add_tasks(cJSON *json, const struct task_memory *tasks)
{
	cJSON *array = json_array_at(json, "tasks");

	for (unsigned int i = 0; tasks && i < tasks->n; i++)
		json_append(array, json_of_task(&tasks->list[i], true));
	json_set(json, "otherTasks",
		 tasks && tasks->list[TASK_OTHERS].runs ?
			 json_of_task(&tasks->list[TASK_OTHERS], false) :
			 cJSON_CreateNull());
}

/*
 * Between fork and exec a child is counted with all that its parent holds: the sum of processes
 * exceeds what there was.
 */
static int64_t beside_tasks(const struct task_memory *tasks, const struct memory_most *most)
{
	return !tasks ? -1 : most->anon < 0 ? tasks->beside : MIN(tasks->beside, most->anon);
}

cJSON *memory_needs_json(const struct observer *o)
{
	const struct task_memory *tasks = o->table ? process_table_tasks(o->table) : NULL;
	const struct memory_most *most = &o->most;
	cJSON *json, *node, *peaks;

	if (!most->since_unix_ns)
		return cJSON_CreateNull();
	json = cJSON_CreateObject();
	json_set(json, "since", report_json_time(most->since_unix_ns));
	node = json_object_at(json, "node");
	json_set(node, "head", cJSON_CreateBool(o->node.head));
	json_set(node, "cpus",
		 o->node.cpus < 0 ? cJSON_CreateNull() :
				    cJSON_CreateNumber((double)o->node.cpus / 1000));
	json_set(node, "memoryBytes", report_json_number(o->node.memory));
	json_set(node, "objectStoreBytes", report_json_number(o->node.object_store));
	json_set(json, "limitBytes", report_json_number(o->last.memory.limit));
	peaks = json_object_at(json, "peaks");
	json_set(peaks, "workingSetBytes", report_json_number(most->working_set));
	json_set(peaks, "anonBytes", report_json_number(most->anon));
	json_set(peaks, "fileBytes", report_json_number(most->file));
	json_set(peaks, "shmemBytes", report_json_number(most->shmem));
	json_set(peaks, "kernelBytes", report_json_number(most->kernel));
	json_set(peaks, "besideTasksBytes", report_json_number(beside_tasks(tasks, most)));
	add_tasks(json, tasks);
	return json;
}
