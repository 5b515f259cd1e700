/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up what tasks and pods have needed, and says what to set.
 *
 * Theory of operation: a task should request a little more than any run of it has held (RESERVE),
 * so that Ray counts it. In a container it has the room that is left below the limit (FULL of it)
 * beside Ray's own processes and the objects, both at their most. If Ray would start more copies
 * than fit there, by its CPUs or by the memory that it offers, one of these has to be less, or the
 * limit more.
 */
#include "plugin/memory_advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/memory_needs.h"
#include "lib/units.h"
#include "plugin/process_table.h"
#include "plugin/table.h"

#define OTHERS "all others" /* stands for tasks whose names had no room */
#define RESERVE 1.1 /* between what a task has needed and its memory=, as in a report's advice */
#define HEADROOM 1.25 /* between what a container has needed and its limit */
#define FULL 0.9 /* the part of a limit that may be used */
#define FAR_BELOW 0.5 /* a limit or a store of which no more was used may be smaller */
#define STORE_MIN ((double)(80 << 20)) /* bytes; Ray refuses less than 75 MiB */
#define DIFFERENCE 0.1 /* between two runs; less is not worth a word */
#define BYTES_MAX ((double)((int64_t)1 << 60)) /* more is no size */
#define NUMBER_TEXT_MAX 24

/* The numbers of a group are those of its containers' sum. -1: not known */
struct group {
	const char *name, *task; /* task: the one that needs most there; NULL: none */
	double containers, limit, cpus, memory, store, working_set, anon, file, shmem, kernel,
		beside;
	double task_bytes;
	bool of_command;
};

#define AT(member) offsetof(struct group, member)

static const struct {
	const char *name, *path; /* in what is printed; in the sum */
	size_t at;
} group_numbers[] = {
	{ "containers", "containers", AT(containers) },
	{ "limitBytes", "limitBytes", AT(limit) },
	{ "cpus", "node.cpus", AT(cpus) },
	{ "memoryBytes", "node.memoryBytes", AT(memory) },
	{ "objectStoreBytes", "node.objectStoreBytes", AT(store) },
	{ "workingSetBytes", "peaks.workingSetBytes", AT(working_set) },
	{ "anonBytes", "peaks.anonBytes", AT(anon) },
	{ "fileBytes", "peaks.fileBytes", AT(file) },
	{ "shmemBytes", "peaks.shmemBytes", AT(shmem) },
	{ "kernelBytes", "peaks.kernelBytes", AT(kernel) },
	{ "besideTasksBytes", "peaks.besideTasksBytes", AT(beside) },
};

/* Returns -1 for what is not known or no size. */
static double size_at(const cJSON *json, const char *path)
{
	const cJSON *item = json_get(json, path);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 ? MIN(item->valuedouble, BYTES_MAX) :
								-1;
}

/*
 * --- Advice
 * --------------------------------------------------------------------------------------------
 */

static void _printf_(4, 5)
	advice_add(cJSON *advice, const char *of, const char *set, const char *because, ...)
{
	cJSON *json = cJSON_CreateObject();
	char text[512];
	va_list ap;

	va_start(ap, because);
	vsnprintf(text, sizeof(text), because, ap);
	va_end(ap);
	json_set_str(json, "of", of);
	json_set_str(json, "set", set);
	json_set_str(json, "because", text);
	json_append(advice, json);
}

#define SIZE(bytes) SIZE_TEXT((int64_t)MIN((bytes), BYTES_MAX))

static const char *function_of(const char *name)
{
	return strncmp(name, "ray::", 5) == 0 ? name + 5 : name;
}

static struct python_size memory_of_task(double peak)
{
	return python_size(MIN(RESERVE * peak, BYTES_MAX));
}

static void advise_task(cJSON *advice, const cJSON *task)
{
	double peak = size_at(task, "peakBytes"), runs = size_at(task, "runs");
	char set[SIZE_TEXT_MAX + 32];

	snprintf(set, sizeof(set), "@ray.remote(memory=%s)", memory_of_task(peak).text);
	advice_add(advice, function_of(json_str(task, "name")), set,
		   "%.1f x %s, the most that one of %.0f %s held", RESERVE, SIZE(peak), runs,
		   runs == 1 ? "run" : "runs");
}

static double group_beside(const struct group *g)
{
	return MAX(g->beside, 0.0) + MAX(g->shmem, 0.0);
}

/* What memory.limit needs for so many copies of its largest task. */
static void advise_limit_for(cJSON *advice, const struct group *g, double copies, double each)
{
	char set[SIZE_TEXT_MAX + 40];

	snprintf(set, sizeof(set), "a memory limit of %s",
		 SIZE((group_beside(g) + copies * each) / FULL));
	advice_add(
		advice, g->name, set,
		"for %.0f of %s at a time: %.0f x %s, %s for Ray itself, %s for objects, and a tenth to spare (now %s)",
		copies, function_of(g->task), copies, SIZE(each), SIZE(MAX(g->beside, 0.0)),
		SIZE(MAX(g->shmem, 0.0)), SIZE(g->limit));
}

/*
 * Whether Ray starts more than there is room for: by its CPUs, and by the memory that it offers to
 * tasks with memory=.
 */
static bool group_is_promised_too_much(const struct group *g, double room, double fit)
{
	return (g->cpus < 0 || g->cpus > fit) && (g->memory <= 0 || g->memory > room);
}

/* Fewer copies, by the memory that Ray offers, by CPUs, or more memory. */
static void advise_copies(cJSON *advice, const struct group *g, double each, double room,
			  double fit)
{
	char set[128];

	if (fit < 1) {
		advise_limit_for(advice, g, 1, each);
		return;
	}
	if (g->memory > room) {
		snprintf(set, sizeof(set),
			 g->of_command ? "--memory=%.0f of ray start" :
					 "memory: \"%.0f\" in rayStartParams",
			 room);
		advice_add(
			advice, g->name, set,
			"%.0f of %s fit at a time: %.0f %% of the limit of %s without %s for Ray itself and %s for objects (now \"%.0f\")",
			fit, function_of(g->task), FULL * 100, SIZE(g->limit),
			SIZE(MAX(g->beside, 0.0)), SIZE(MAX(g->shmem, 0.0)), g->memory);
	}
	if (g->cpus <= fit)
		return;
	snprintf(set, sizeof(set),
		 "num_cpus=%.0f for %s, in place of its memory=", ceil(g->cpus / fit),
		 function_of(g->task));
	advice_add(advice, g->name, set, "%.0f CPUs, and %.0f fit at a time", g->cpus, fit);
	advise_limit_for(advice, g, g->cpus, each);
}

/*
 * each: 0: no task ran there. The limit has to be enough for a copy on each CPU, however few were
 * seen at once.
 */
static void advise_smaller(cJSON *advice, const struct group *g, double each)
{
	double limit = HEADROOM * g->working_set, store = MAX(HEADROOM * g->shmem, STORE_MIN);
	double copies = (group_beside(g) + MAX(g->cpus, 1.0) * each) / FULL;
	char set[128];

	if (g->working_set > 0 && MAX(limit, copies) < FAR_BELOW * g->limit) {
		snprintf(set, sizeof(set), "a memory limit of %s is enough",
			 SIZE(MAX(limit, copies)));
		advice_add(
			advice, g->name, set,
			"%s used %s at most, and %.0f of the largest task at a time need %s (now %s)",
			g->of_command ? "commands" : "containers", SIZE(g->working_set),
			MAX(g->cpus, 1.0), SIZE(copies), SIZE(g->limit));
	}
	if (g->store <= 0 || g->shmem < 0 || store >= FAR_BELOW * g->store)
		return;
	snprintf(
		set, sizeof(set),
		g->of_command ?
			"object_store_memory=%.0f of ray.init(), or --object-store-memory of ray start, is enough" :
			"object-store-memory: \"%.0f\" in rayStartParams is enough",
		ceil(store));
	advice_add(advice, g->name, set,
		   "%.2f x %s, the most that objects took, and no less than %s (now %s)", HEADROOM,
		   SIZE(g->shmem), SIZE(STORE_MIN), SIZE(g->store));
}

static void group_advise(cJSON *advice, const struct group *g)
{
	double each = g->task ? MAX((double)memory_of_task(g->task_bytes).bytes, 1.0) : 0;
	double room = FULL * g->limit - group_beside(g),
	       fit = each > 0 ? MAX(floor(room / each), 0.0) : HUGE_VAL;

	if (g->limit <= 0)
		return;
	if (each > 0 && (fit < 1 || group_is_promised_too_much(g, room, fit)))
		advise_copies(advice, g, each, room, fit);
	else if (each > 0 && g->memory > 0 && g->memory < each)
		advise_limit_for(advice, g, 1, each);
	else
		advise_smaller(advice, g, each);
}

/*
 * --- JSON
 * ----------------------------------------------------------------------------------------------
 */

static void set_size(cJSON *json, const char *name, double bytes)
{
	json_set(json, name, bytes < 0 ? cJSON_CreateNull() : cJSON_CreateNumber(bytes));
}

/*
 * That part of the runs held no more bytes; -1: not known. The pairs of bytes and runs are in
 * order.
 */
static double task_quantile(const cJSON *task, double part)
{
	double all = 0, seen = 0;

	json_each(pair, json_get(task, "runsByPeak"))
		all += pair->child->next->valuedouble;
	json_each(pair, json_get(task, "runsByPeak")) {
		seen += pair->child->next->valuedouble;
		if (seen >= part * all)
			return MIN(pair->child->valuedouble, size_at(task, "peakBytes"));
	}
	return -1;
}

static cJSON *json_of_task(const cJSON *task)
{
	cJSON *json = json_named_new(json_str(task, "name"));

	json_set(json, "runs", cJSON_CreateNumber(size_at(task, "runs")));
	json_set(json, "atOnce", cJSON_CreateNumber(MAX(size_at(task, "atOnce"), 0.0)));
	set_size(json, "medianBytes", task_quantile(task, 0.5));
	set_size(json, "p95Bytes", task_quantile(task, 0.95));
	set_size(json, "peakBytes", size_at(task, "peakBytes"));
	return json;
}

static cJSON *task_largest(const cJSON *tasks)
{
	const cJSON *largest = json_first(tasks);

	json_each(task, tasks) {
		double peak = size_at(task, "peakBytes"), most = size_at(largest, "peakBytes");

		if (peak > most || (peak == most && strcmp(json_str_or(task, "name", ""),
							   json_str_or(largest, "name", "")) < 0))
			largest = task;
	}
	return (cJSON *)largest;
}

/*
 * Takes them out of the sum, the one that needs most first. What many names need together is
 * nobody's memory=, so it has no advice.
 */
static void tasks_move(cJSON *sum, cJSON *json)
{
	cJSON *tasks = json_array_at(sum, "tasks"),
	      *others = cJSON_DetachItemFromObjectCaseSensitive(sum, "otherTasks");

	json_set_str(others, "name", OTHERS);
	json_append(tasks, others);
	for (cJSON *task; (task = task_largest(tasks));
	     cJSON_Delete(cJSON_DetachItemViaPointer(tasks, task))) {
		if (size_at(task, "runs") <= 0 || size_at(task, "peakBytes") < 0)
			continue;
		json_append(json_get(json, "tasks"), json_of_task(task));
		if (strncmp(json_str_or(task, "name", ""), "ray::", 5) == 0)
			advise_task(json_get(json, "advice"), task);
	}
}

static void group_add(cJSON *json, const cJSON *sum)
{
	struct group g = { .name = sum->string,
			   .of_command = json_bool(json, "ofCommands", false) };
	cJSON *group = json_named_new(g.name);

	for (size_t i = 0; i < ARRAY_SIZE(group_numbers); i++) {
		double number = size_at(sum, group_numbers[i].path);

		*(double *)((char *)&g + group_numbers[i].at) = number;
		set_size(group, group_numbers[i].name, number);
	}
	json_each(task, json_get(sum, "tasks"))
		if (size_at(task, "runs") > 0 && size_at(task, "peakBytes") > g.task_bytes) {
			g.task = json_str(task, "name");
			g.task_bytes = size_at(task, "peakBytes");
		}
	json_set_str(group, "task", g.task);
	set_size(group, "taskBytes", g.task_bytes);
	json_append(json_get(json, "groups"), group);
	group_advise(json_get(json, "advice"), &g);
}

cJSON *memory_advice(const cJSON *answers)
{
	static const struct memory_needs_size of_all = { MEMORY_NAMES_MAX, MEMORY_COUNTS_MAX };
	_cleanup_json_ cJSON *sum = cJSON_CreateObject(), *groups = cJSON_CreateObject();
	cJSON *json = cJSON_CreateObject();

	json_each(answer, answers) {
		const cJSON *needs = json_get(answer, "needs");
		const char *name = json_str_or(answer, "group", "");

		if (!cJSON_GetObjectItemCaseSensitive(groups, name) &&
		    cJSON_GetArraySize(groups) == MEMORY_GROUPS_MAX)
			continue;
		if (memory_needs_add(sum, needs, of_all))
			memory_needs_add(json_object_at(groups, name), needs, MEMORY_NEEDS_KEPT);
	}
	json_set_str(json, "kind", "MemoryNeeds");
	json_set_int(json, "schemaVersion", 1);
	json_set_str(json, "since", json_str(sum, "since"));
	json_set(json, "ofCommands",
		 cJSON_CreateBool(json_bool(json_first(answers), "ofCommand", false)));
	json_array_at(json, "tasks");
	json_array_at(json, "groups");
	json_array_at(json, "advice");
	tasks_move(sum, json);
	json_each(group, groups)
		group_add(json, group);
	return json;
}

/*
 * --- Text
 * ----------------------------------------------------------------------------------------------
 */

static const char *advice_number_at(const cJSON *json, const char *name,
				    char buf[static NUMBER_TEXT_MAX])
{
	double number = size_at(json, name);

	snprintf(buf, NUMBER_TEXT_MAX, "%.*f", number == floor(number) ? 0 : 1, MAX(number, 0.0));
	return number < 0 ? "" : buf;
}

static const char *size_cell(const cJSON *json, const char *name, char buf[static SIZE_TEXT_MAX])
{
	return bytes_text((int64_t)size_at(json, name), buf);
}

/* The same task in the run before; NULL: it is not there by its name, perhaps among the others. */
static const cJSON *task_before(const cJSON *task, const cJSON *before)
{
	const char *name = json_is(task, "name", OTHERS) ? NULL : json_str(task, "name");

	return json_find(json_get(before, "tasks"), "name", name);
}

/* "+40 %" against the same task before; "new" if it was not there; "" if that is not known. */
static const char *change_text(const cJSON *task, const cJSON *before,
			       char buf[static NUMBER_TEXT_MAX])
{
	double then = size_at(task_before(task, before), "peakBytes"),
	       now = size_at(task, "peakBytes");
	const cJSON *others = json_find(json_get(before, "tasks"), "name", OTHERS);

	if (then <= 0 || now < 0)
		return before && !others && !json_is(task, "name", OTHERS) ? "new" : "";
	snprintf(buf, NUMBER_TEXT_MAX, "%+.0f %%", MIN((now / then - 1) * 100, 1e9));
	return fabs(now / then - 1) < DIFFERENCE ? "same" : buf;
}

static void print_tasks(const cJSON *now, const cJSON *before, struct strbuf *out)
{
	static const char *const headings[] = { "TASK OR ACTOR", "RUNS", "AT ONCE", "MEDIAN",
						"95 %",		 "PEAK", "CHANGE" };
	struct table table;

	table_init(&table, headings, ARRAY_SIZE(headings) - !before);
	json_each(task, json_get(now, "tasks")) {
		char runs[NUMBER_TEXT_MAX], at_once[NUMBER_TEXT_MAX], median[SIZE_TEXT_MAX],
			p95[SIZE_TEXT_MAX], peak[SIZE_TEXT_MAX], change[NUMBER_TEXT_MAX];

		table_row(&table, (const char *const[]){ json_str(task, "name"),
							 advice_number_at(task, "runs", runs),
							 advice_number_at(task, "atOnce", at_once),
							 size_cell(task, "medianBytes", median),
							 size_cell(task, "p95Bytes", p95),
							 size_cell(task, "peakBytes", peak),
							 change_text(task, before, change) });
	}
	table_print(&table, out);
	table_release(&table);
}

static void print_groups(const cJSON *now, struct strbuf *out)
{
	bool of_commands = json_bool(now, "ofCommands", false);
	const char *const headings[] = { of_commands ? "COMMAND" : "GROUP",
					 of_commands ? "MACHINES" : "CONTAINERS",
					 "CPUS",
					 "LIMIT",
					 "PEAK",
					 "ANON",
					 "FILE",
					 "OBJECTS",
					 "STORE",
					 "BESIDE TASKS" };
	struct table table;

	table_init(&table, headings, ARRAY_SIZE(headings));
	json_each(g, json_get(now, "groups")) {
		char n[NUMBER_TEXT_MAX], cpus[NUMBER_TEXT_MAX], sizes[7][SIZE_TEXT_MAX];

		table_row(&table, (const char *const[]){
					  json_str(g, "name"), advice_number_at(g, "containers", n),
					  advice_number_at(g, "cpus", cpus),
					  size_cell(g, "limitBytes", sizes[0]),
					  size_cell(g, "workingSetBytes", sizes[1]),
					  size_cell(g, "anonBytes", sizes[2]),
					  size_cell(g, "fileBytes", sizes[3]),
					  size_cell(g, "shmemBytes", sizes[4]),
					  size_cell(g, "objectStoreBytes", sizes[5]),
					  size_cell(g, "besideTasksBytes", sizes[6]) });
	}
	table_print(&table, out);
	table_release(&table);
}

/*
 * Says how much a task's peak differs from that before, from DIFFERENCE on. A run that goes on may
 * need more.
 */
static void print_changes(const cJSON *now, const cJSON *before, struct strbuf *out)
{
	json_each(task, json_get(now, "tasks")) {
		double then = size_at(task_before(task, before), "peakBytes"),
		       peak = size_at(task, "peakBytes");

		if (then <= 0 || peak < 0 || fabs(peak / then - 1) < DIFFERENCE)
			continue;
		add_printable(out, function_of(json_str(task, "name")));
		strbuf_addf(out, " peaked %.0f %% %s than in the run before: %s after %s.\n",
			    MIN(fabs(peak / then - 1) * 100, 1e9), peak > then ? "higher" : "lower",
			    SIZE(peak), SIZE(then));
	}
}

void memory_advice_text(const cJSON *now, const cJSON *before, struct strbuf *out)
{
	print_tasks(now, before, out);
	strbuf_adds(
		out,
		"A run is what samples have seen; its memory is resident memory without what is shared (RSS - SHR), with its child "
		"processes.\n\n");
	print_groups(now, out);
	if (before) {
		strbuf_addc(out, '\n');
		print_changes(now, before, out);
	}
	strbuf_adds(out, "\nWhat to set:\n");
	json_each(line, json_get(now, "advice")) {
		add_between(out, "  ", json_str(line, "of"), ": ");
		add_between(out, "", json_str(line, "set"), "\n      ");
		add_between(out, "", json_str(line, "because"), "\n");
	}
	if (!cJSON_GetArraySize(json_get(now, "advice")))
		strbuf_adds(out, "  nothing: no task and no actor was seen\n");
}
