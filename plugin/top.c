/* SPDX-License-Identifier: Apache-2.0 */
/* Prints containers, and their memory by task and actor, as tables. */
#include "plugin/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "plugin/process_table.h"
#include "plugin/table.h"

#define NUMBER_TEXT_MAX 24
#define KEY_MAX 512

/* One container of an answer. It points into the answers, which own the JSON. */
struct place {
	const cJSON *answer, *container;
};

/* The memory of all processes of one kind and name. */
struct sum {
	const char *kind, *name;
	int64_t processes, bytes, largest;
	size_t containers;
	const char *largest_in; /* the pod with the largest process */
};

struct top {
	struct place *places;
	size_t n_places;
	struct sum *sums;
	size_t n_sums;
};

/*
 * Adds without leaving the range 0 to INT64_MAX: the numbers come from a pod and may be anything.
 */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, MAX(b, (int64_t)0), &sum) ? INT64_MAX : sum;
}

static size_t count(const cJSON *array, size_t max)
{
	return MIN((size_t)cJSON_GetArraySize(array), max);
}

/*
 * --- Gathering
 * ------------------------------------------------------------------------------------------
 */

static double fullness(const struct place *place)
{
	int64_t usage = json_int(place->container, "memory.usageBytes", -1),
		limit = json_int(place->container, "memory.limitBytes", -1);

	return usage >= 0 && limit > 0 ? (double)usage / (double)limit : -1;
}

static int fullest_first(const void *left, const void *right)
{
	double a = fullness(left), b = fullness(right);

	return a > b ? -1 : a < b;
}

static int largest_first(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

/*
 * Returns the sum of that kind and name, a new one if there is none yet, or NULL if there is no
 * memory.
 */
static struct sum *sum_of(struct top *top, struct strmap *by_key, const cJSON *component)
{
	const char *kind = json_str_or(component, "kind", ""),
		   *name = json_str_or(component, "name", "");
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%.60s/%.400s", kind, name);
	struct sum *sum = strmap_get(by_key, key);
	if (sum)
		return sum;
	sum = &top->sums[top->n_sums];
	if (strmap_put(by_key, key, sum, NULL) < 0)
		return NULL;
	top->n_sums++;
	*sum = (struct sum){ .kind = kind, .name = name, .largest = -1, .largest_in = "" };
	return sum;
}

static void add_component(struct sum *sum, const cJSON *component, const char *pod)
{
	int64_t largest = json_int(component, "largestBytes", -1);

	sum->processes = add(sum->processes, json_int(component, "count", 0));
	sum->bytes = add(sum->bytes, json_int(component, "bytes", 0));
	sum->containers++;
	if (largest > sum->largest) {
		sum->largest = largest;
		sum->largest_in = pod;
	}
}

static bool add_components(struct top *top, struct strmap *by_key, const struct place *place)
{
	size_t n = 0;

	json_each(component, json_get(place->container, "components")) {
		struct sum *sum = n++ < TOP_COMPONENTS_MAX ? sum_of(top, by_key, component) : NULL;

		if (sum)
			add_component(sum, component, json_str_or(place->answer, "pod", ""));
		else
			return n > TOP_COMPONENTS_MAX;
	}
	return true;
}

static size_t count_components(const struct top *top)
{
	size_t n = 0;

	for (size_t i = 0; i < top->n_places; i++)
		n += count(json_get(top->places[i].container, "components"), TOP_COMPONENTS_MAX);
	return n;
}

static bool gather_sums(struct top *top)
{
	struct strmap by_key = STRMAP_INIT;

	top->sums = calloc(count_components(top) + 1, sizeof(*top->sums));
	bool ok = top->sums != NULL;
	for (size_t i = 0; ok && i < top->n_places; i++)
		ok = add_components(top, &by_key, &top->places[i]);
	strmap_release(&by_key, NULL);
	if (ok)
		qsort(top->sums, top->n_sums, sizeof(*top->sums), largest_first);
	return ok;
}

static bool gather_places(struct top *top, const cJSON *answers)
{
	size_t all = 0;

	json_each(answer, answers)
		all += count(json_get(answer, "memory.containers"), TOP_CONTAINERS_MAX);
	top->places = calloc(all + 1, sizeof(*top->places));
	if (!top->places)
		return false;
	json_each(answer, answers) {
		size_t n = 0;

		json_each(container, json_get(answer, "memory.containers"))
			if (n++ < TOP_CONTAINERS_MAX)
				top->places[top->n_places++] = (struct place){ answer, container };
	}
	qsort(top->places, top->n_places, sizeof(*top->places), fullest_first);
	return true;
}

/*
 * --- Printing
 * -------------------------------------------------------------------------------------------
 */

static const char *number_text(int64_t number, char buf[static NUMBER_TEXT_MAX])
{
	snprintf(buf, NUMBER_TEXT_MAX, "%" PRId64, number);
	return buf;
}

static void add_place(struct table *table, const struct place *place, bool namespaces)
{
	const cJSON *c = place->container;
	char used[SIZE_TEXT_MAX], limit[SIZE_TEXT_MAX], anon[SIZE_TEXT_MAX], shmem[SIZE_TEXT_MAX],
		file[SIZE_TEXT_MAX];
	char part[NUMBER_TEXT_MAX] = "", n[NUMBER_TEXT_MAX];
	double full = fullness(place);
	const char *cells[] = {
		json_str(place->answer, "namespace"),
		json_str(place->answer, "pod"),
		json_str(c, "container"),
		bytes_text(json_int(c, "memory.usageBytes", -1), used),
		bytes_text(json_int(c, "memory.limitBytes", -1), limit),
		part,
		bytes_text(json_int(c, "memory.anonBytes", -1), anon),
		bytes_text(json_int(c, "memory.shmemBytes", -1), shmem),
		bytes_text(json_int(c, "memory.fileBytes", -1), file),
		number_text(json_int(c, "processCount", 0), n),
	};

	if (full >= 0)
		snprintf(part, sizeof(part), "%.0f %%", full * 100);
	table_row(table, namespaces ? cells : cells + 1);
}

static void print_places(const struct top *top, bool namespaces, struct strbuf *out)
{
	static const char *const headings[] = { "NAMESPACE", "POD",	 "CONTAINER", "USED",
						"LIMIT",     "PART",	 "ANON",      "SHMEM",
						"FILE",	     "PROCESSES" };
	size_t first = namespaces ? 0 : 1;
	struct table table;

	table_init(&table, headings + first, ARRAY_SIZE(headings) - first);
	for (size_t i = 0; i < top->n_places; i++)
		add_place(&table, &top->places[i], namespaces);
	table_print(&table, out);
	table_release(&table);
}

static void add_sum(struct table *table, const struct sum *sum)
{
	char processes[NUMBER_TEXT_MAX], containers[NUMBER_TEXT_MAX], bytes[SIZE_TEXT_MAX],
		largest[SIZE_TEXT_MAX];

	table_row(table, (const char *const[]){
				 sum->kind, sum->name, number_text(sum->processes, processes),
				 number_text((int64_t)sum->containers, containers),
				 bytes_text(sum->bytes, bytes), bytes_text(sum->largest, largest),
				 sum->largest_in });
}

/* Sums up what has no line in the sidecars' answers or in this table. */
static struct sum sum_up_rest(const struct top *top)
{
	struct sum rest = { .kind = "", .name = "all others", .largest = -1, .largest_in = "" };

	for (size_t i = TOP_LINES_MAX; i < top->n_sums; i++) {
		rest.processes = add(rest.processes, top->sums[i].processes);
		rest.bytes = add(rest.bytes, top->sums[i].bytes);
		rest.containers = MAX(rest.containers, top->sums[i].containers);
	}
	for (size_t i = 0; i < top->n_places; i++) {
		int64_t n = json_int(top->places[i].container, "otherProcesses.count", 0);

		rest.processes = add(rest.processes, n);
		rest.bytes = add(rest.bytes,
				 json_int(top->places[i].container, "otherProcesses.bytes", 0));
		rest.containers += n > 0;
	}
	return rest;
}

static void print_sums(const struct top *top, struct strbuf *out)
{
	static const char *const headings[] = { "KIND",	  "NAME",    "PROCESSES", "CONTAINERS",
						"MEMORY", "LARGEST", "LARGEST IN" };
	struct sum rest = sum_up_rest(top);
	struct table table;

	table_init(&table, headings, ARRAY_SIZE(headings));
	for (size_t i = 0; i < MIN(top->n_sums, (size_t)TOP_LINES_MAX); i++)
		add_sum(&table, &top->sums[i]);
	rest.containers = MIN(rest.containers, top->n_places);
	if (rest.processes > 0)
		add_sum(&table, &rest);
	strbuf_adds(
		out,
		"\nMEMORY is resident memory without what is shared (RSS - SHR), as Ray counts it.\n");
	table_print(&table, out);
	table_release(&table);
}

static void print_processes(const struct top *top, struct strbuf *out)
{
	for (size_t i = 0; i < top->n_places; i++) {
		const cJSON *container = top->places[i].container;
		_cleanup_json_ cJSON *largest = cJSON_CreateArray();

		json_each(process, json_get(container, "processes"))
			if (cJSON_GetArraySize(largest) < TOP_PROCESSES_MAX)
				cJSON_AddItemReferenceToArray(largest, (cJSON *)process);
		add_between(out, "\nThe largest processes of container ",
			    json_str(container, "container"), ":\n");
		process_table(largest, "", out);
	}
}

void top_text(const cJSON *answers, bool namespaces, bool processes, struct strbuf *out)
{
	struct top top = { 0 };

	if (gather_places(&top, answers) && gather_sums(&top)) {
		print_places(&top, namespaces, out);
		print_sums(&top, out);
		if (processes)
			print_processes(&top, out);
	} else
		out->failed = true;
	free(top.places);
	free(top.sums);
}
