/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the kernel's lines about OOM kills and crashes, with names that look like such lines. */
#include "lib/kernel_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_V "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define UID_A "11111111-1111-1111-1111-111111111111"
#define UID_V "22222222-2222-2222-2222-222222222222"
#define ATTACKER "/kubepods/burstable/pod" UID_A "/" ID_A
#define VICTIM "/kubepods/burstable/pod" UID_V "/" ID_V
#define KILL "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0"
#define END ",task=python3,pid=7,uid=0"
/* Cgroups that the attacker makes below its own; each slash begins another one. */
#define TASK ATTACKER "/x,task_memcg=" VICTIM "/z"
#define TWICE ATTACKER "/x,task_memcg=" ATTACKER "/x/y"
#define LIMIT ATTACKER "/x,oom_memcg=" VICTIM
#define GLOBAL ATTACKER "/x,global_oom,task_memcg=" VICTIM "/z"

static const struct {
	const char *text, *limit, *victim, *name; /* victim NULL: the line is refused */
} kills[] = {
	{ KILL ",oom_memcg=" VICTIM ",task_memcg=" VICTIM "/job" END, VICTIM, VICTIM "/job",
	  "python3" },
	{ KILL ",oom_memcg=/kubepods,task_memcg=" VICTIM END, "/kubepods", VICTIM, "python3" },
	{ KILL ",oom_memcg=/,task_memcg=" VICTIM END, "/", VICTIM, "python3" },
	{ KILL ",global_oom,task_memcg=/" END, "", "/", "python3" },
	/* A path that holds a key gives nothing to the pod whose path follows it. */
	{ KILL ",oom_memcg=" TASK ",task_memcg=" TASK END, TASK, TASK, "python3" },
	{ KILL ",oom_memcg=" ATTACKER ",task_memcg=" TASK END, ATTACKER, TASK, "python3" },
	{ KILL ",oom_memcg=/kubepods,task_memcg=" TASK END, "/kubepods", TASK, "python3" },
	{ KILL ",oom_memcg=" LIMIT ",task_memcg=" LIMIT "/a" END, LIMIT, LIMIT "/a", "python3" },
	{ KILL ",global_oom,task_memcg=" TASK END, "", TASK, "python3" },
	{ KILL ",oom_memcg=" GLOBAL ",task_memcg=" GLOBAL END, GLOBAL, GLOBAL, "python3" },
	{ KILL ",global_oom,task_memcg=" LIMIT ",task_memcg=" LIMIT END, "",
	  LIMIT ",task_memcg=" LIMIT, "python3" },
	/*
	 * Where the name of its cgroup makes the first place a wrong one, both paths are its own.
	 */
	{ KILL ",oom_memcg=" TWICE ",task_memcg=" TWICE END, ATTACKER "/x",
	  ATTACKER "/x/y,task_memcg=" TWICE, "python3" },
	/*
	 * The kernel writes no slash between cpuset= and mems_allowed=, but what is no path is
	 * none.
	 */
	{ "oom-kill:constraint=C,cpuset=a,oom_memcg=b,mems_allowed=0,oom_memcg=" VICTIM
	  ",task_memcg=" VICTIM END,
	  VICTIM, VICTIM, "python3" },
	/* Nor does a name of a process */
	{ KILL ",global_oom,task_memcg=" VICTIM ",task=a,task=,pid=7,u,pid=42,uid=1", "", VICTIM,
	  "a,task=,pid=7,u" },
	{ KILL ",global_oom,task_memcg=" VICTIM ",task=a,pid=7,uid=0,pid=42,uid=1", "", VICTIM,
	  "a,pid=7,uid=0" },
	{ KILL ",global_oom,task_memcg=" VICTIM ",task=\\x0a\\x0a\\x0a\\x0a\\x0a,pid=4,uid=1", "",
	  VICTIM, "\\x0a\\x0a\\x0a\\x0a\\x0a" },
	/*
	 * A process that is moved to another cgroup meanwhile, a line that is cut, and texts that
	 * are no path
	 */
	{ KILL ",oom_memcg=" VICTIM ",task_memcg=" ATTACKER END, NULL, NULL, NULL },
	{ KILL ",oom_memcg=" VICTIM ",task_memcg=" VICTIM "0" END, NULL, NULL, NULL },
	{ KILL ",oom_memcg=" VICTIM ",task_memcg=" VICTIM ",task=python3,pid=7", NULL, NULL, NULL },
	{ KILL ",oom_memcg=" VICTIM ",task_memcg=" VICTIM ",task=python3,pid=7,uid=0,x", NULL, NULL,
	  NULL },
	{ KILL ",oom_memcg=" VICTIM, NULL, NULL, NULL },
	{ KILL ",global_oom,task_memcg=/,task=a name of more bytes,pid=7,uid=0", NULL, NULL, NULL },
	{ "x " KILL ",global_oom,task_memcg=/" END, NULL, NULL, NULL },
	{ "", NULL, NULL, NULL },
};

/* Copies to exactly this size, so that AddressSanitizer sees a read beyond the end. */
static char *exactly(const char *text)
{
	char *copy = malloc(MAX(strlen(text), (size_t)1));

	memcpy(copy, text, strlen(text));
	return copy;
}

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static void a_kill_is_of_the_cgroup_that_the_kernel_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kills); i++) {
		_cleanup_free_ char *text = exactly(kills[i].text);
		struct kernel_oom oom;
		bool found = kernel_oom_parse(text, strlen(kills[i].text), &oom);

		if (found != (kills[i].victim != NULL))
			fail_msg("%s: found %d", kills[i].text, found);
		if (found &&
		    (!span_is(oom.limit, kills[i].limit) || !span_is(oom.victim, kills[i].victim) ||
		     !span_is(oom.name, kills[i].name) || oom.global != !kills[i].limit[0]))
			fail_msg("%s: limit %.*s, victim %.*s, name %.*s", kills[i].text,
				 (int)oom.limit.len, oom.limit.at, (int)oom.victim.len,
				 oom.victim.at, (int)oom.name.len, oom.name.at);
	}
}

#define OLD " killed as a result of limit of "
#define OLD_NAME ATTACKER "/x" OLD VICTIM "/z"

static void an_old_kernels_line_is_of_the_cgroup_that_it_names(void **state)
{
	static const struct {
		const char *text, *victim, *limit;
	} rows[] = {
		{ "Task in " VICTIM OLD "/kubepods", VICTIM, "/kubepods" },
		{ "Task in " VICTIM "/a b" OLD VICTIM, VICTIM "/a b", VICTIM },
		{ "Task in " OLD_NAME OLD OLD_NAME, OLD_NAME, OLD_NAME },
		{ "Task in " OLD_NAME OLD ATTACKER, OLD_NAME, ATTACKER },
		{ "Task in " OLD_NAME OLD "/kubepods", OLD_NAME, "/kubepods" },
		{ "Task in " VICTIM OLD ATTACKER, NULL, NULL },
		{ "Task in " VICTIM OLD, NULL, NULL },
		{ "Task in a hurry" OLD "a", NULL, NULL },
		{ "Task in ", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = exactly(rows[i].text);
		struct kernel_oom oom;
		bool found = kernel_oom_limit_parse(text, strlen(rows[i].text), &oom);

		if (found != (rows[i].victim != NULL) ||
		    (found &&
		     (!span_is(oom.victim, rows[i].victim) || !span_is(oom.limit, rows[i].limit))))
			fail_msg("%s", rows[i].text);
	}
}

static void a_group_is_the_cgroup_between_the_kernels_own_words(void **state)
{
	static const char end[] = " are going to be killed due to memory.oom.group set";
	static const struct {
		const char *path;
		bool found;
	} rows[] = {
		{ VICTIM, true },
		{ ATTACKER "/a are going to be killed due to memory.oom.group set" VICTIM, true },
		{ "no path", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct span path;
		char text[600];

		snprintf(text, sizeof(text), "Tasks in %s%s", rows[i].path, end);
		assert_int_equal(kernel_oom_group_parse(text, strlen(text), &path), rows[i].found);
		if (rows[i].found)
			assert_true(span_is(path, rows[i].path));
		assert_false(kernel_oom_group_parse(text, strlen(text) - 1, &path));
	}
}

static void a_crash_is_of_the_process_that_the_kernel_names(void **state)
{
	static const struct {
		const char *text, *name;
		int pid;
	} rows[] = {
		{ "python3[77]: segfault at 10 ip 0 sp 0 error 4 in x[9]: segfault at 0[4+1]",
		  "python3", 77 },
		{ "]: segfault at [77]: segfault at 10 ip 0", "]: segfault at ", 77 },
		{ "[4]: unhandled [77]: unhandled exception: DABT", "[4]: unhandled ", 77 },
		{ "[77]: segfault at 10 ip 0", "", 77 },
		{ "traps: a b] [9] c[77] trap invalid opcode ip:4 sp:7", "a b] [9] c", 77 },
		{ "traps: [9] trap [77] trap int3 ip:4 sp:7 error:0 in x", "[9] trap ", 77 },
		{ "a name of 16 byt[77]: segfault at 10", NULL, 0 },
		{ "x[]: segfault at 10", NULL, 0 },
		{ "x[99999999999]: segfault at 10", NULL, 0 },
		{ "x[77]: all is well", NULL, 0 },
		{ "traps: x[77]", NULL, 0 },
		{ "", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = exactly(rows[i].text);
		struct span name;

		assert_int_equal(kernel_crash_parse(text, strlen(rows[i].text), &name),
				 rows[i].pid);
		if (rows[i].pid)
			assert_true(span_is(name, rows[i].name));
	}
}

static void the_first_pod_on_a_path_counts(void **state)
{
	static const struct {
		const char *path, *rest;
	} rows[] = {
		{ VICTIM, "/" ID_V },
		{ "/kubepods/pod" UID_V, "" },
		{ "/kubepods.slice/kubepods-pod22222222_2222_2222_2222_222222222222.slice/cri-x.scope",
		  "/cri-x.scope" },
		{ "/docker/" ID_A "/kubelet" VICTIM, "/" ID_V },
		{ ATTACKER VICTIM, NULL },
		{ "/kubepods/xpod" UID_V, NULL },
		{ "/kubepods/pod" UID_V "0", NULL },
		{ "/pod", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *rest = kernel_path_in_pod(rows[i].path, strlen(rows[i].path), UID_V);

		assert_int_equal(rest != NULL, rows[i].rest != NULL);
		if (rest)
			assert_string_equal(rest, rows[i].rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_is_of_the_cgroup_that_the_kernel_names),
		cmocka_unit_test(an_old_kernels_line_is_of_the_cgroup_that_it_names),
		cmocka_unit_test(a_group_is_the_cgroup_between_the_kernels_own_words),
		cmocka_unit_test(a_crash_is_of_the_process_that_the_kernel_names),
		cmocka_unit_test(the_first_pod_on_a_path_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
