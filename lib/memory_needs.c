/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up what containers have needed. */
#include "lib/memory_needs.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

/*
 * The most names that are read of one container, which is as many as a sidecar writes. A tenant may
 * write more, and to add them up would hold the operator's loop.
 */
#define NAMES_TAKEN 64
#define COUNTS_TAKEN 128
#define NAME_LEN_MAX 63 /* a sidecar cuts them at 47 */
#define MESSAGE_NAMES 16
#define MESSAGE_COUNTS 4

enum how { MOST, LEAST, SUM };

struct number {
	const char *name;
	enum how how;
};

static const struct number of_container[] = { { "limitBytes", LEAST }, { "containers", SUM } };
static const struct number of_node[] = { { "cpus", MOST },
					 { "memoryBytes", MOST },
					 { "objectStoreBytes", MOST } };
static const struct number of_peaks[] = {
	{ "workingSetBytes", MOST }, { "anonBytes", MOST },   { "fileBytes", MOST },
	{ "shmemBytes", MOST },	     { "kernelBytes", MOST }, { "besideTasksBytes", MOST }
};
static const struct number of_task[] = { { "runs", SUM },
					 { "atOnce", MOST },
					 { "peakBytes", MOST } };

static void numbers_add(cJSON *sum, const cJSON *from, const struct number *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const cJSON *a = json_get(sum, numbers[i].name),
			    *b = json_get(from, numbers[i].name);
		double value;

		if (!cJSON_IsNumber(b) || !(b->valuedouble >= 0))
			continue;
		value = !cJSON_IsNumber(a)     ? b->valuedouble :
			numbers[i].how == SUM  ? a->valuedouble + b->valuedouble :
			numbers[i].how == MOST ? MAX(a->valuedouble, b->valuedouble) :
						 MIN(a->valuedouble, b->valuedouble);
		json_set(sum, numbers[i].name, cJSON_CreateNumber(value));
	}
}

/*
 * --- The counts of runs by what they held: pairs of bytes and runs
 * -------------------------------------
 */

static double pair_bytes(const cJSON *pair)
{
	const cJSON *bytes = json_first(pair);

	return bytes ? bytes->valuedouble : 0;
}

static bool pair_is_good(const cJSON *pair)
{
	return cJSON_IsArray(pair) && cJSON_GetArraySize(pair) == 2 &&
	       cJSON_IsNumber(pair->child) && cJSON_IsNumber(pair->child->next) &&
	       pair->child->valuedouble >= 0 && pair->child->next->valuedouble > 0;
}

/* Keeps the order of bytes, the fewest first. */
static void pairs_insert(cJSON *pairs, const cJSON *pair)
{
	cJSON *last = cJSON_Duplicate(pair, true);

	json_append(pairs, last);
	for (; last && last != pairs->child && pair_bytes(last->prev) > pair_bytes(last);
	     last = last->prev) {
		cJSON *numbers = last->child;

		last->child = last->prev->child;
		last->prev->child = numbers;
	}
}

/* Adds the runs of one pair to the next, where the two are closest. */
static void pairs_join(cJSON *pairs)
{
	cJSON *closest = NULL;
	double least = 0;

	for (cJSON *pair = pairs->child; pair && pair->next; pair = pair->next) {
		double ratio = pair_bytes(pair->next) / MAX(pair_bytes(pair), 1.0);

		if (!closest || ratio < least) {
			closest = pair;
			least = ratio;
		}
	}
	if (!closest)
		return;
	cJSON_SetNumberHelper(closest->next->child->next,
			      closest->next->child->next->valuedouble +
				      closest->child->next->valuedouble);
	cJSON_Delete(cJSON_DetachItemViaPointer(pairs, closest));
}

static void pairs_shorten(cJSON *pairs, size_t counts)
{
	for (size_t n = (size_t)cJSON_GetArraySize(pairs); n > counts; n--)
		pairs_join(pairs);
}

/*
 * --- Tasks
 * ---------------------------------------------------------------------------------------------
 */

static void task_add(cJSON *sum, const cJSON *task, size_t counts)
{
	cJSON *pairs = json_array_at(sum, "runsByPeak");

	numbers_add(sum, task, of_task, ARRAY_SIZE(of_task));
	json_each(pair, json_get(task, "runsByPeak"))
		if (pairs && pair_is_good(pair) &&
		    (size_t)cJSON_GetArraySize(pairs) < counts + COUNTS_TAKEN)
			pairs_insert(pairs, pair);
}

static cJSON *task_place(cJSON *sum, const char *name)
{
	cJSON *tasks = json_array_at(sum, "tasks"), *task = json_find(tasks, "name", name);

	if (!task)
		json_append(tasks, task = json_named_new(name));
	return task;
}

static cJSON *task_least(const cJSON *tasks)
{
	cJSON *least = NULL;

	for (cJSON *task = tasks->child; task; task = task->next)
		if (!least || json_int(task, "peakBytes", 0) < json_int(least, "peakBytes", 0))
			least = task;
	return least;
}

static void needs_shorten(cJSON *sum, struct memory_needs_size max)
{
	cJSON *tasks = json_array_at(sum, "tasks");

	while (tasks && (size_t)cJSON_GetArraySize(tasks) > max.names) {
		cJSON *least = cJSON_DetachItemViaPointer(tasks, task_least(tasks));

		task_add(json_object_at(sum, "otherTasks"), least, max.counts);
		cJSON_Delete(least);
	}
	json_each(task, tasks)
		pairs_shorten(json_get(task, "runsByPeak"), max.counts);
	pairs_shorten(json_get(sum, "otherTasks.runsByPeak"), max.counts);
}

bool memory_needs_add(cJSON *sum, const cJSON *needs, struct memory_needs_size max)
{
	const char *since = json_str(needs, "since"), *first = json_str(sum, "since");
	const cJSON *others = json_get(needs, "otherTasks");
	int read = 0;

	if (!cJSON_IsObject(sum) || !cJSON_IsObject(json_get(needs, "peaks")))
		return false;
	/* Times of RFC 3339 in UTC are in the order of their letters. */
	if (since && strlen(since) < 64 && (!first || strcmp(since, first) < 0))
		json_set_str(sum, "since", since);
	if (!json_get(needs, "containers"))
		json_set_int(sum, "containers", json_int(sum, "containers", 0) + 1);
	numbers_add(sum, needs, of_container, ARRAY_SIZE(of_container));
	numbers_add(json_object_at(sum, "node"), json_get(needs, "node"), of_node,
		    ARRAY_SIZE(of_node));
	numbers_add(json_object_at(sum, "peaks"), json_get(needs, "peaks"), of_peaks,
		    ARRAY_SIZE(of_peaks));
	json_each(task, json_get(needs, "tasks")) {
		const char *name = json_str(task, "name");

		if (read++ < NAMES_TAKEN && name && strlen(name) <= NAME_LEN_MAX)
			task_add(task_place(sum, name), task, max.counts);
	}
	if (cJSON_IsObject(others))
		task_add(json_object_at(sum, "otherTasks"), others, max.counts);
	needs_shorten(sum, max);
	return true;
}

void memory_needs_message(cJSON *sum, struct strbuf *out)
{
	for (size_t names = MESSAGE_NAMES + 1; names > 0; names--) {
		_cleanup_free_ char *text = NULL;

		needs_shorten(sum, (struct memory_needs_size){ names - 1, MESSAGE_COUNTS });
		text = cJSON_PrintUnformatted(sum);
		if (!text || strlen(text) + sizeof(MEMORY_NEEDS_MARK) > MEMORY_NEEDS_MESSAGE_MAX)
			continue;
		strbuf_addf(out, MEMORY_NEEDS_MARK "%s", text);
		return;
	}
}
