/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of putting equal stacks together. */
#include "lib/stack_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"

#define WAITS "  Python, innermost first:\n     train.py:88 in all_reduce\n"
#define LOADS "  Python, innermost first:\n     data.py:40 in next\n"

static const char *written(const char *answer, size_t processes, struct strbuf *out)
{
	_cleanup_free_ char *text = strdup(answer);
	struct stack_groups *g = stack_groups_new();
	cJSON *json;

	*out = STRBUF_INIT(65536);
	stack_groups_add(g, NULL, text);
	assert_int_equal(stack_groups_processes(g), processes);
	json = stack_groups_json(g);
	assert_int_equal(json_int(json, "processes", -1), processes);
	cJSON_Delete(json);
	stack_groups_write(g, out);
	stack_groups_free(g);
	return strbuf_str(out);
}

static void the_stack_that_differs_comes_first(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	assert_string_equal(
		written("target 5 rank 0\nprocess 5 stopped for 900 us, threads: 2\nthread 5 S still python3\n" WAITS
			"thread 6 S still grpc\n  native, innermost first:\n     poll (libc.so.6)\n"
			"target 7 rank 1\nprocess 7 stopped for 1500 us, threads: 1\nthread 7 R moved python3\n" LOADS
			"target 8 rank 2\nprocess 8 stopped for 100 us, threads: 1\nthread 8 S still python3\n" WAITS
			"end\n",
			3, &out),
		"3 processes, 4 threads; a process stood still for at most 1.5 ms\n"
		"\nMain thread of 1 of 3 processes:\n"
		"  PID 7 rank 1: ran, and has gone on since: Python's lines may be later\n" LOADS
		"\nMain thread of 2 of 3 processes:\n"
		"  PID 5 rank 0: waits\n  PID 8 rank 2: waits\n" WAITS "\n1 other thread:\n"
		"  PID 5 rank 0, thread 6 grpc: waits\n"
		"  native, innermost first:\n     poll (libc.so.6)\n");
}

static void what_could_not_be_seen_is_said(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	assert_string_equal(
		written("target 5 a b\nfailed it has ended\ntarget 6 c\nprocess 6 stopped for 0 us, threads: 1\n"
			"note Python's frames are not seen: x\nthread 6 D moved c\n  native: not seen\nend\n",
			2, &out),
		"PID 5 a b: no stacks: it has ended\n"
		"PID 6: Python's frames are not seen: x\n"
		"2 processes, 1 thread; a process stood still for at most 0.0 ms\n"
		"\nMain thread of 1 of 2 processes:\n"
		"  PID 6 c: in the kernel, uninterruptible\n"
		"  native: not seen\n");
}

static void stacks_of_several_pods_are_one_picture(void **state)
{
	static const struct stack_place places[] = { { "worker-0", "node-a" },
						     { "worker-1", "node-b" },
						     { "worker-2", NULL } };
	char answers[][256] = {
		"target 7 rank 0\nthread 7 S still python3\n" WAITS "end\n",
		"target 7 rank 1\nthread 7 S still python3\n" LOADS "  native: not seen\nend\n",
		"target 7 rank \033[2J\nthread 7 S still python3\n" WAITS "target 8 x\nfailed it has ended\nend\n",
	};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(65536);
	struct stack_groups *g = stack_groups_new();
	cJSON *json, *first;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		stack_groups_add(g, &places[i], answers[i]);
	stack_groups_write(g, &out);
	assert_string_equal(strbuf_str(&out),
			    "worker-2, PID 8 x: no stacks: it has ended\n"
			    "4 processes, 3 threads; a process stood still for at most 0.0 ms\n"
			    "\nMain thread of 1 of 4 processes:\n"
			    "  worker-1 on node-b, PID 7 rank 1: waits\n" LOADS
			    "  native: not seen\n"
			    "\nMain thread of 2 of 4 processes:\n"
			    "  worker-0 on node-a, PID 7 rank 0: waits\n"
			    "  worker-2, PID 7 rank ?[2J: waits\n" WAITS);
	json = stack_groups_json(g);
	assert_string_equal(json_str(json, "kind"), "Stacks");
	assert_string_equal(cJSON_GetArrayItem(json_get(json, "notes"), 0)->valuestring,
			    "worker-2, PID 8 x: no stacks: it has ended");
	first = cJSON_GetArrayItem(json_get(json, "groups"), 0);
	assert_int_equal(json_int(first, "count", 0), 1);
	assert_true(json_bool(first, "mainThreads", false));
	assert_string_equal(cJSON_GetArrayItem(json_get(first, "python"), 0)->valuestring,
			    "data.py:40 in next");
	assert_string_equal(cJSON_GetArrayItem(json_get(first, "native"), 0)->valuestring,
			    "native: not seen");
	assert_string_equal(json_str(cJSON_GetArrayItem(json_get(first, "threads"), 0), "node"),
			    "node-b");
	cJSON_Delete(json);
	stack_groups_free(g);
}

static void an_answer_that_is_cut_or_forged_harms_nobody(void **state)
{
	static const char *const rows[] = {
		"", "\n", "end\n", "thread\n", "thread 1\n", "thread x S still\n", "  a stack without a thread\n", "process\n",
		"thread 1 S still a", "failed \n", "note \n", "thread 1 S stillstillstill a\n", "thread 1 S still a\n \n",
		"thread 1 S still a\n  x\nnote y\n  z\n", "thread 1 S still a\n     a frame without a heading\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out;

		written(rows[i], 0, &out);
	}
}

/*
 * The user of a program chooses the names of its files, and any user may listen where root asks.
 */
static void names_drive_no_terminal(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	written("target 5 a\x1b]0;owned\x07\nprocess 5 stopped for 0 us, threads: 1\n"
		"note Python's frames are not seen: python3\x1b[2J: no symbol\nfailed \xc2\x9b"
		"2J\n"
		"thread 5 S still b\x1b[31m\n  native, innermost first:\n     f\x1b[8m (lib\r.so)\nend\n",
		1, &out);
	assert_null(strpbrk(strbuf_str(&out), "\x1b\x07\x9b\r"));
	assert_non_null(strstr(strbuf_str(&out), "python3?[2J: no symbol\n"));
	assert_non_null(strstr(strbuf_str(&out), "     f?[8m (lib?.so)\n"));
}

static size_t main_threads(const char *answer, struct strbuf *out)
{
	_cleanup_free_ char *text = strdup(answer);
	struct stack_groups *g = stack_groups_new();
	size_t n;

	*out = STRBUF_INIT(65536);
	stack_groups_add(g, NULL, text);
	n = stack_groups_main(g, out);
	stack_groups_free(g);
	return n;
}

static void main_threads_are_counted_with_where_they_are(void **state)
{
	static const struct {
		const char *answer;
		size_t n;
		const char *text;
	} rows[] = {
		{ "end\n", 0, "" },
		{ "target 9 gone\nfailed it has ended\nend\n", 0, "" },
		{ "target 5 rank 0\nthread 5 S still python3\n" WAITS
		  "  native, innermost first:\n     poll (libc.so.6)\n"
		  "thread 6 S still grpc\n" LOADS,
		  1, "rank 0 (PID 5) at train.py:88 in all_reduce" },
		{ "target 7 raylet\nthread 7 S still raylet\n  native, innermost first:\n     epoll_wait (libc.so.6)\n",
		  1, "raylet (PID 7) at epoll_wait (libc.so.6)" },
		/* The frame below is another thread's. */
		{ "target 8 x\nthread 8 D moved x\n  native: not seen\nthread 9 S still x\n" LOADS,
		  1, "x (PID 8) at a place that was not seen" },
		{ "target 8 x\nthread 8 D moved x\nthread 9 S still x\n" LOADS, 1,
		  "x (PID 8) at a place that was not seen" },
		{ "target 5 a\nthread 5 S still a\n" WAITS "target 6 b\nthread 6 S still b\n" LOADS
		  "target 7 c\nthread 7 S still c\n" WAITS,
		  3,
		  "b (PID 6) at data.py:40 in next; 2 like a (PID 5) at train.py:88 in all_reduce" },
		{ "target 1 a\nthread 1 S still a\n  \n     A\ntarget 2 a\nthread 2 S still a\n  \n     B\ntarget 3 a\nthread 3 S still a\n  \n     C\n"
		  "target 4 a\nthread 4 S still a\n  \n     D\ntarget 5 a\nthread 5 S still a\n  \n     E\n",
		  5, "a (PID 1) at A; a (PID 2) at B; a (PID 3) at C; others" },
		{ "target 1 a\nthread 1 S still a\n  \n     A at a place with a name that is as long as many names are of C++\n"
		  "target 2 a\nthread 2 S still a\n  \n     B\n",
		  2,
		  "a (PID 1) at A at a place with a name that is as long as many names are of C++; others" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out;

		assert_int_equal(main_threads(rows[i].answer, &out), rows[i].n);
		assert_string_equal(strbuf_str(&out), rows[i].text);
	}
}

#define RAY "     /x/site-packages/ray/_private/"
#define GET \
	RAY "worker.py:977 in get_objects\n" RAY "worker.py:2962 in get\n" RAY \
	    "client_mode_hook.py:104 in wrapper\n"
#define PYTHON "  Python, innermost first:\n"

static void a_main_thread_that_ray_has_not_answered_is_found_with_the_line_that_calls(void **state)
{
	static const struct {
		const char *answer, *text;
	} rows[] = {
		{ "end\n", "" },
		{ "target 5 a\nthread 5 S still a\n" PYTHON GET
		  "     /home/ray/train.py:88 in main\n",
		  "a (PID 5) at /home/ray/train.py:88 in main" },
		{ "target 5 a\nthread 5 S still a\n" PYTHON
		  "     /x/ray/util/placement_group.py:90 in PlacementGroup.wait\n     t.py:7 in main\n"
		  "  native, innermost first:\n     f\n",
		  "a (PID 5) at t.py:7 in main" },
		{ "target 5 a\nthread 5 S moved a\n  Python (it holds the GIL), innermost first:\n" RAY
		  "worker.py:3 in put\n     t.py:7 in main\n",
		  "a (PID 5) at t.py:7 in main" },
		/* It runs its own code, which Ray called. */
		{ "target 5 a\nthread 5 S still a\n" PYTHON "     t.py:9 in callback\n" GET
		  "     t.py:7 in main\n",
		  "" },
		/* Another thread, and native frames. */
		{ "target 5 a\nthread 5 S still a\n  native, innermost first:\n     f at /ray/_private/x.c:1\n     main\nthread 6 S still a\n" PYTHON
			  GET "     t.py:7 in main\n",
		  "" },
		{ "target 5 a\nthread 5 S still a\n" PYTHON GET, "" },
		{ "target 5 a\nthread 5 S still a\n" PYTHON GET RAY "cut", "" },
		{ "target 5 a\nthread 5 S still a\n" PYTHON GET
		  "target 6 b\nthread 6 S still b\n" PYTHON "     t.py:7 in main\n",
		  "" },
		/* However large they are. */
		{ "target 9 b\nthread 9 S still b\n" PYTHON GET
		  "     u.py:1 in main\ntarget 5 a\nthread 5 S still a\n" PYTHON GET
		  "     t.py:7 in main\n",
		  "a (PID 5) at t.py:7 in main" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(STACK_MAIN_MAX);
		_cleanup_free_ char *text = strdup(rows[i].answer);
		struct stack_groups *g = stack_groups_new();

		stack_groups_add(g, NULL, text);
		stack_groups_ray_call(g, &out);
		assert_string_equal(strbuf_str(&out), rows[i].text);
		stack_groups_free(g);
	}
}

static void the_processor_time_of_a_thread_is_beside_its_state(void **state)
{
	static char answer[] =
		"target 5 a\nused 3000000000 in 60000000000\nthread 5 R still a\n" WAITS
		"thread 6 S still b\n" LOADS "used -1 in -1\nthread 7 S still b\n" LOADS;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(65536);
	struct stack_groups *g = stack_groups_new();

	(void)state;
	stack_groups_add(g, NULL, answer);
	stack_groups_write(g, &out);
	assert_non_null(strstr(strbuf_str(&out),
			       "  PID 5 a: ran; used a processor for 3.0 s of 1 min 0 s\n"));
	assert_non_null(strstr(strbuf_str(&out), ", thread 6 b: waits\n"));
	assert_non_null(strstr(strbuf_str(&out), ", thread 7 b: waits\n"));
	_cleanup_json_ cJSON *json = stack_groups_json(g);
	const cJSON *thread = cJSON_GetArrayItem(
		json_get(cJSON_GetArrayItem(json_get(json, "groups"), 0), "threads"), 0);
	assert_int_equal(json_int(thread, "processorSeconds", -1), 3);
	assert_int_equal(json_int(thread, "ageSeconds", -1), 60);
	stack_groups_free(g);
}

static void where_main_threads_are_fits_whatever_the_names(void **state)
{
	char name[400], answer[4096];
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(answer, sizeof(answer),
		 "target 4194301 %s\nthread 4194301 S still a\n  \n     %s/train.py:88 in wait\n"
		 "target 4194302 %s\nthread 4194302 S still a\n  \n     %s/other.py:7 in wait\n",
		 name, name, name, name);
	assert_int_equal(main_threads(answer, &out), 2);
	assert_in_range(out.len, 100, STACK_MAIN_MAX);
	assert_non_null(strstr(strbuf_str(&out), "x/train.py:88 in wait; others"));
}

static void notes_without_end_do_not_fill_the_memory(void **state)
{
	static const char note[] = "note n\n";
	char *answer = malloc((GROUP_NOTES_MAX + 2) * strlen(note) + 1);
	struct stack_groups *g = stack_groups_new();
	cJSON *json;

	(void)state;
	for (size_t i = 0; i < GROUP_NOTES_MAX + 2; i++)
		memcpy(answer + i * strlen(note), note, sizeof(note));
	stack_groups_add(g, NULL, answer);
	json = stack_groups_json(g);
	const cJSON *notes = json_get(json, "notes");
	assert_int_equal(cJSON_GetArraySize(notes), GROUP_NOTES_MAX + 1);
	assert_string_equal(cJSON_GetArrayItem(notes, GROUP_NOTES_MAX - 1)->valuestring, "n");
	assert_string_equal(cJSON_GetArrayItem(notes, GROUP_NOTES_MAX)->valuestring,
			    "2 more notes are not shown");
	cJSON_Delete(json);
	stack_groups_free(g);
	free(answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_without_end_do_not_fill_the_memory),
		cmocka_unit_test(the_stack_that_differs_comes_first),
		cmocka_unit_test(what_could_not_be_seen_is_said),
		cmocka_unit_test(stacks_of_several_pods_are_one_picture),
		cmocka_unit_test(an_answer_that_is_cut_or_forged_harms_nobody),
		cmocka_unit_test(names_drive_no_terminal),
		cmocka_unit_test(main_threads_are_counted_with_where_they_are),
		cmocka_unit_test(where_main_threads_are_fits_whatever_the_names),
		cmocka_unit_test(
			a_main_thread_that_ray_has_not_answered_is_found_with_the_line_that_calls),
		cmocka_unit_test(the_processor_time_of_a_thread_is_beside_its_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
