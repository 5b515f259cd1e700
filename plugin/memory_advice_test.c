/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what tasks have needed, and what follows for their settings. */
#include "plugin/memory_advice.h"

#include <stdio.h>

#include "lib/macros.h"
#include "plugin/testing.h"

#define TASK(name, runs, at_once, peak, by_peak) \
	"{'name': 'ray::" name "', 'runs': " runs ", 'atOnce': " at_once ", 'peakBytes': " peak ", 'runsByPeak': " by_peak "}"
#define NEEDS(limit, cpus, memory, store, working_set, shmem, beside, tasks) \
	"{'since': '2026-11-22T12:00:00.000Z', 'node': {'head': false, 'cpus': " cpus ", 'memoryBytes': " memory ", 'objectStoreBytes': " store \
	"}, 'limitBytes': " limit ", 'peaks': {'workingSetBytes': " working_set ", 'anonBytes': 1, 'fileBytes': 2, 'shmemBytes': " shmem \
	", 'kernelBytes': null, 'besideTasksBytes': " beside "}, 'tasks': [" tasks "], 'otherTasks': null}"
#define ANSWER(group, needs) "{'group': '" group "', 'needs': " needs "}"

#define MIB_100 "104857600"
#define MIB_500 "524288000"
#define GIB_1 "1073741824"
#define GIB_2 "2147483648"
#define GIB_8 "8589934592"

static cJSON *advice_of(const char *answers)
{
	_cleanup_json_ cJSON *json = json_of(answers);
	cJSON *advice = memory_advice(json);

	assert_non_null(advice);
	return advice;
}

static void text_of_advice(const char *answers, const char *before, struct strbuf *out)
{
	_cleanup_json_ cJSON *now = advice_of(answers), *then = before ? advice_of(before) : NULL;

	memory_advice_text(now, then, out);
}

/*
 * 500 MiB of each run, and 550 MiB with the reserve: in 2 GiB beside 300 MiB there is room for two,
 * and Ray would start four.
 */
static void more_copies_than_fit_are_advised_against_with_the_sum(void **state)
{
	static const struct {
		const char *answers;
		const char *has[6], *lacks; /* parts of the text */
	} rows[] = {
		{ "[" ANSWER("small", NEEDS(GIB_2, "4", "null", "null", GIB_2, MIB_100, "209715200", TASK("load", "12", "4", MIB_500, "[[" MIB_500 ",12]]"))) "]",
		  { "load: @ray.remote(memory=550 * 1024**2)\n      1.1 x 500.0 MiB, the most that one of 12 runs held",
		    "small: num_cpus=2 for load, in place of its memory=\n      4 CPUs, and 2 fit at a time",
		    "small: a memory limit of 2.7 GiB\n      for 4 of load at a time: 4 x 550.0 MiB, 200.0 MiB for Ray itself, 100.0 MiB for objects" },
		  "rayStartParams" },
		/*
		 * Ray offers all of the limit: three requests of 550 MiB are within it, and two
		 * fit.
		 */
		{ "[" ANSWER("small", NEEDS(GIB_2, "4", GIB_2, "null", GIB_2, MIB_100, "209715200", TASK("load", "12", "4", MIB_500, "[[" MIB_500 ",12]]"))) "]",
		  { "small: memory: \"1618162483\" in rayStartParams\n      2 of load fit at a time: 90 % of the limit of 2.0 GiB", "(now \"2147483648\")" }, "nothing" },
		/* Ray offers no more than the room: with memory= it starts two. */
		{ "[" ANSWER("small", NEEDS(GIB_2, "4", "1618162483", "null", GIB_2, MIB_100, "209715200", TASK("load", "12", "4", MIB_500, "[]"))) "]",
		  { "load: @ray.remote(memory=550 * 1024**2)" }, "small: " },
		/* It does not even fit once. */
		{ "[" ANSWER("small", NEEDS(MIB_500, "1", MIB_500, "null", MIB_500, "0", MIB_100, TASK("load", "1", "1", MIB_500, "[]"))) "]",
		  { "the most that one of 1 run held", "small: a memory limit of 722.2 MiB\n      for 1 of load at a time" }, "num_cpus" },
		/* All fit, and much is left. */
		{ "[" ANSWER("small", NEEDS(GIB_8, "2", GIB_8, GIB_2, GIB_1, MIB_100, MIB_100, TASK("load", "3", "2", MIB_500, "[]"))) "]",
		  { "small: a memory limit of 1.4 GiB is enough", "small: object-store-memory: \"131072000\" in rayStartParams is enough" }, "num_cpus" },
		/* No task was seen. */
		{ "[" ANSWER("headgroup", NEEDS(GIB_2, "0", "null", "null", GIB_1, "0", MIB_500, "")) "]", { "nothing: no task" }, "num_cpus" },
		/* A container without a limit has no advice for its group. */
		{ "[" ANSWER("small", NEEDS("null", "4", "null", "null", GIB_1, "0", MIB_500, TASK("load", "1", "1", MIB_500, "[]"))) "]",
		  { "load: @ray.remote(memory=550 * 1024**2)" }, "small: " },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		text_of_advice(rows[i].answers, NULL, &out);
		for (const char *const *part = rows[i].has; *part; part++)
			has(&out, *part);
		if (rows[i].lacks)
			lacks(&out, rows[i].lacks);
	}
}

/* The same needs in the words of `ray start` and ray.init(), and not in those of a RayCluster. */
static void a_command_has_no_words_of_kubernetes(void **state)
{
	static const struct {
		const char *answers, *has[4];
	} rows[] = {
		{ "[{'group': 'train.py', 'ofCommand': true, 'needs': " NEEDS(GIB_2, "4", GIB_2, "null", GIB_2, MIB_100, "209715200", TASK("load", "12", "4", MIB_500, "[]")) "}]",
		  { "train.py: --memory=1618162483 of ray start\n", "COMMAND ", "MACHINES" } },
		{ "[{'group': 'train.py', 'ofCommand': true, 'needs': " NEEDS(GIB_8, "2", GIB_8, GIB_2, GIB_1, MIB_100, MIB_100, TASK("load", "3", "2", MIB_500, "[]")) "}]",
		  { "train.py: object_store_memory=131072000 of ray.init(), or --object-store-memory of ray start, is enough\n",
		    "train.py: a memory limit of 1.4 GiB is enough\n      commands used 1.0 GiB at most" } },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		text_of_advice(rows[i].answers, NULL, &out);
		for (const char *const *part = rows[i].has; *part; part++)
			has(&out, *part);
		for (const char *const *word =
			     (const char *const[]){ "rayStartParams", "CONTAINERS", "containers",
						    "GROUP", NULL };
		     *word; word++)
			lacks(&out, *word);
	}
}

static void runs_of_all_containers_are_one_distribution(void **state)
{
	_cleanup_json_ cJSON *json = advice_of("[" ANSWER(
		"a",
		NEEDS(GIB_2, "1", "null", "null", "5", "7", "1",
		      TASK("load", "20", "2", MIB_100,
			   "[[1048576,19],[" MIB_100
			   ",1]]"))) "," ANSWER("a",
						NEEDS(GIB_1, "2", "null", "null", "9", "3", "2",
						      TASK("load", "20", "3", MIB_500,
							   "[[1048576,19],[" MIB_500
							   ",1]]") "," TASK("small", "1", "1",
									    "1048576",
									    "[[1048576,1]]"))) "]");
	const cJSON *task = json_find(json_get(json, "tasks"), "name", "ray::load"),
		    *group = json_get(json, "groups")->child;
	(void)state;

	assert_ptr_equal(json_get(json, "tasks")->child, task);
	assert_int_equal(json_int(task, "runs", 0), 40);
	assert_int_equal(json_int(task, "atOnce", 0), 3);
	assert_int_equal(json_int(task, "medianBytes", 0), 1048576);
	assert_int_equal(json_int(task, "p95Bytes", 0), 1048576);
	assert_int_equal(json_int(task, "peakBytes", 0), 500 << 20);
	assert_int_equal(json_int(group, "containers", 0), 2);
	assert_int_equal(json_int(group, "limitBytes", 0), 1 << 30);
	assert_int_equal(json_int(group, "workingSetBytes", 0), 9);
	assert_int_equal(json_int(group, "shmemBytes", 0), 7);
	assert_string_equal(json_str(group, "task"), "ray::load");
	assert_string_equal(json_str(json, "kind"), "MemoryNeeds");
}

static void two_runs_are_compared_by_what_their_tasks_need(void **state)
{
	static const char before[] =
		"[" ANSWER("a", NEEDS(GIB_8, "1", "null", "null", "5", "7", "1",
				      TASK("load", "2", "1", MIB_500, "[]") "," TASK(
					      "same", "2", "1", MIB_500,
					      "[]") "," TASK("less", "2", "1", GIB_1, "[]"))) "]";
	static const char now[] = "[" ANSWER(
		"a",
		NEEDS(GIB_8, "1", "null", "null", "5", "7", "1",
		      TASK("load", "2", "1", "734003200", "[]") "," TASK(
			      "same", "2", "1", "529530880",
			      "[]") "," TASK("less", "2", "1", MIB_500,
					     "[]") "," TASK("added", "1", "1", MIB_100, "[]"))) "]";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16), alone = STRBUF_INIT(1 << 16);
	(void)state;

	text_of_advice(now, before, &out);
	has(&out, "load peaked 40 % higher than in the run before: 700.0 MiB after 500.0 MiB.\n");
	has(&out, "less peaked 51 % lower than in the run before: 500.0 MiB after 1.0 GiB.\n");
	lacks(&out, "same peaked");
	has(&out, "+40 %");
	has(&out, "new");
	text_of_advice(now, NULL, &alone);
	lacks(&alone, "CHANGE");
	lacks(&alone, "run before");
}

/*
 * Where names had no room, one that is not among them is perhaps no new one, and which the others
 * are differs between runs.
 */
static void what_was_put_together_with_others_is_not_compared(void **state)
{
	static const char before[] = "[{'group': 'a', 'needs': {'peaks': {}, 'tasks': [" TASK(
		"load", "2", "1", MIB_500, "[]") "], 'otherTasks': {'runs': 3, 'peakBytes': " GIB_1
						 "}}}]";
	static const char now[] = "[{'group': 'a', 'needs': {'peaks': {}, 'tasks': [" TASK(
		"load", "2", "1", MIB_500,
		"[]") "," TASK("small", "1", "1", MIB_100,
			       "[]") "], 'otherTasks': {'runs': 3, 'peakBytes': 1048576}}}]";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	(void)state;

	text_of_advice(now, before, &out);
	has(&out, "all others");
	lacks(&out, "new");
	lacks(&out, "others peaked");
	lacks(&out, "-100 %");
	strbuf_reset(&out);
	text_of_advice(now,
		       "[{'group': 'a', 'needs': {'peaks': {}, 'tasks': [" TASK(
			       "small", "1", "1", MIB_100, "[]") "]}}]",
		       &out);
	has(&out, "500.0 MiB   new\n");
	has(&out, "1.0 MiB     \n");
}

static void what_a_container_made_up_stays_on_its_line_and_in_range(void **state)
{
	static const char *const rows[] = {
		"[]",
		"[1, null, {}]",
		"[{'group': 'a', 'needs': 5}]",
		"[" ANSWER("a", NEEDS("1e308", "1e308", "-1", "1e300", "1e308", "1e308", "1e308", TASK("x\\u001b[31m\\n%s%n", "1e308", "1e308", "1e308", "[[1e308,1e308],[1],'x',{}]"))) "]",
		"[" ANSWER("a", NEEDS("1", "0.0001", "0.5", "0.5", "0", "0", "0", TASK("", "1", "-1", "0.0001", "[[0,1]]"))) "]",
		"[" ANSWER("a\\n", NEEDS("'x'", "[]", "{}", "true", "null", "null", "null", "{'name': 5}, 7, []")) "]",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		text_of_advice(rows[i], rows[i], &out);
		assert_false(strbuf_failed(&out));
		lacks(&out, "\033");
		lacks(&out, "\n%s");
		lacks(&out, "nan");
		lacks(&out, "inf");
	}
}

static void ten_thousand_names_are_bounded(void **state)
{
	_cleanup_json_ cJSON *answers = cJSON_CreateArray(), *json = NULL;
	(void)state;

	for (int i = 0; i < 200; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);

		strbuf_addf(&text,
			    "{'group': 'g%d', 'needs': {'limitBytes': 1, 'peaks': {}, 'tasks': [",
			    i);
		for (int j = 0; j < 50; j++)
			strbuf_addf(&text, "%s" TASK("n%d-%d", "1", "1", "1048576", "[]"),
				    j ? "," : "", i, j);
		strbuf_adds(&text, "]}}");
		json_append(answers, json_of(strbuf_str(&text)));
	}
	json = memory_advice(answers);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "tasks")), MEMORY_NAMES_MAX + 1);
	assert_int_equal(
		json_int(json_find(json_get(json, "tasks"), "name", "all others"), "runs", 0),
		100 * 50 - MEMORY_NAMES_MAX);
	assert_int_equal(cJSON_GetArraySize(json_get(json, "groups")), MEMORY_GROUPS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_copies_than_fit_are_advised_against_with_the_sum),
		cmocka_unit_test(a_command_has_no_words_of_kubernetes),
		cmocka_unit_test(runs_of_all_containers_are_one_distribution),
		cmocka_unit_test(two_runs_are_compared_by_what_their_tasks_need),
		cmocka_unit_test(what_was_put_together_with_others_is_not_compared),
		cmocka_unit_test(what_a_container_made_up_stays_on_its_line_and_in_range),
		cmocka_unit_test(ten_thousand_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
