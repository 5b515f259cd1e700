/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod sees of an OOM killer's report, and what it does not. */
#include "node/oom_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define UID_A "11111111-1111-1111-1111-111111111111"
#define UID_B "22222222-2222-2222-2222-222222222222"
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define POD_A "/kubepods/burstable/pod" UID_A
#define POD_B "/kubepods/burstable/pod" UID_B
/* PIDs below are of pod A, those from there on of pod B. */
#define OF_B 1000

static struct oom_report report;
static struct strbuf seen;
static bool all_gone;

static int set_up(void **state)
{
	(void)state;
	oom_report_init(&report);
	strbuf_init(&seen, 1024 * 1024);
	all_gone = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	oom_report_release(&report);
	strbuf_release(&seen);
	return 0;
}

static void say(const char *text)
{
	char record[1024];
	struct kernel_line l;

	snprintf(record, sizeof(record), "6,123,456789,-;%s\n SUBSYSTEM=x\n", text);
	assert_true(kernel_line_parse(record, strlen(record), &l));
	if (l.kind == KERNEL_LINE_OOM_BEGIN)
		oom_report_begin(&report, &l, record, strlen(record));
	else
		oom_report_add(&report, &l, record, strlen(record));
}

static void say_all(const char *const *texts)
{
	for (; *texts; texts++)
		say(*texts);
}

static bool is_of(pid_t pid, const char *pod_uid, void *arg)
{
	(void)arg;
	return !all_gone && strcmp(pod_uid, pid < OF_B ? UID_A : UID_B) == 0;
}

static void take(const struct kernel_line *l, void *arg)
{
	(void)arg;
	strbuf_add(&seen, l->text, l->len);
	strbuf_addc(&seen, '\n');
}

static void look(const char *pod_uid)
{
	const struct oom_report_reader reader = { .is_of = is_of, .take = take };

	strbuf_reset(&seen);
	oom_report_read(&report, pod_uid, &reader);
}

static void sees(const char *text)
{
	assert_string_equal(strbuf_str(&seen), text);
}

#define HEADER "[  pid  ]   uid  tgid total_vm      rss name"
#define LIMIT_OF_NODE \
	"oom-kill:constraint=CONSTRAINT_NONE,global_oom,task_memcg=" POD_A "/" ID_A \
	",task=victim,pid=12,uid=0"
#define LIMIT_OF_POD \
	"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=" POD_A ",task_memcg=" POD_A "/" ID_A \
	",task=victim,pid=12,uid=0"

static void a_pod_reads_nothing_of_another_when_the_node_has_no_memory_left(void **state)
{
	static const char *const texts[] = {
		"secret invoked oom-killer: gfp_mask=0xcc0, order=0",
		"CPU: 1 PID: 4711 Comm: secret Not tainted 6.1.0",
		" out_of_memory+0x1fd/0x4c0",
		"RIP: 0033:0x7f4711",
		"cgroup: fork rejected by pids controller in " POD_B,
		"secret (4711): drop_caches: 3",
		"Mem-Info:",
		"Memory cgroup stats for " POD_B ": cache:1KB",
		"Memory cgroup stats for " POD_A ": cache:2KB",
		HEADER,
		"[     12]     0    12      684      128 victim",
		"[   4711]     0  4711      684      128 secret",
		/* A thread of B, whose number is below, and one of A */
		"[     13]     0  4711      684      128 secret",
		"[   4712]     0    14      684      128 thread",
		LIMIT_OF_NODE,
		NULL,
	};

	(void)state;
	say_all(texts);
	look(UID_A);
	sees("(name left out) invoked oom-killer: gfp_mask=0xcc0, order=0\n"
	     "Mem-Info:\n"
	     "Memory cgroup stats for " POD_A ": cache:2KB\n" HEADER "\n"
	     "[     12]     0    12      684      128 victim\n"
	     "[   4712]     0    14      684      128 thread\n" LIMIT_OF_NODE "\n");
	/* The victim's row is the pod's also when nothing is known of it any more. */
	all_gone = true;
	look(UID_A);
	sees("(name left out) invoked oom-killer: gfp_mask=0xcc0, order=0\n"
	     "Mem-Info:\n"
	     "Memory cgroup stats for " POD_A ": cache:2KB\n" HEADER "\n"
	     "[     12]     0    12      684      128 victim\n" LIMIT_OF_NODE "\n");
}

static void the_name_of_its_own_process_stays(void **state)
{
	static const char *const texts[] = { "own invoked oom-killer: order=0",
					     "CPU: 1 UID: 0 PID: 15 Comm: own Not tainted",
					     LIMIT_OF_NODE, NULL };

	(void)state;
	say_all(texts);
	look(UID_A);
	sees("own invoked oom-killer: order=0\n" LIMIT_OF_NODE "\n");
	/* Without the second line nobody knows whose it is. */
	say(texts[0]);
	say(LIMIT_OF_NODE);
	look(UID_A);
	sees("(name left out) invoked oom-killer: order=0\n" LIMIT_OF_NODE "\n");
}

static void at_the_pods_own_limit_all_processes_are_its_own(void **state)
{
	static const char *const texts[] = { "young invoked oom-killer: order=0",
					     "secret (4711): drop_caches: 3",
					     HEADER,
					     "[    99]     0    99      684      128 young",
					     LIMIT_OF_POD,
					     NULL };

	(void)state;
	all_gone = true;
	say_all(texts);
	look(UID_A);
	sees("young invoked oom-killer: order=0\n" HEADER
	     "\n[    99]     0    99      684      128 young\n" LIMIT_OF_POD "\n");
}

static void say_rows(unsigned int n, pid_t first)
{
	char row[128];

	say(HEADER);
	for (unsigned int i = 0; i < n; i++) {
		snprintf(
			row, sizeof(row),
			"[%7d]     0 %5d      684      128       64       64        0    45056        0             0 x",
			(int)first + (int)i, (int)first + (int)i);
		say(row);
	}
}

static void a_table_that_is_too_long_is_left_out_whole(void **state)
{
	static const struct {
		const char *limit;
		unsigned int rows;
		pid_t first;
		bool stays;
	} cases[] = {
		{ LIMIT_OF_POD, OOM_REPORT_ROWS_MAX, OF_B, true },
		{ LIMIT_OF_POD, OOM_REPORT_ROWS_MAX + 1, OF_B, false },
		/* Of others: they take no room in what the pod gets. */
		{ LIMIT_OF_NODE, OOM_REPORT_ROWS_MAX + 1, OF_B, true },
		{ LIMIT_OF_NODE, OOM_REPORT_ROWS_MAX + 1, 100, false },
		{ LIMIT_OF_POD, 5000, OF_B, false },
		{ LIMIT_OF_NODE, 5000, OF_B, false },
	};
	static const char first[] = "own invoked oom-killer: order=0\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char end[512];

		say("own invoked oom-killer: order=0");
		say("CPU: 1 PID: 12 Comm: own Not tainted");
		say_rows(cases[i].rows, cases[i].first);
		say(cases[i].limit);
		assert_string_equal(report.victim.pod_uid, UID_A);
		look(UID_A);
		assert_false(strbuf_failed(&report.records));
		assert_int_equal(strstr(strbuf_str(&seen), HEADER "\n") != NULL, cases[i].stays);
		assert_int_equal(strncmp(strbuf_str(&seen), first, strlen(first)), 0);
		snprintf(end, sizeof(end), "%s\n", cases[i].limit);
		assert_string_equal(strbuf_str(&seen) + seen.len - strlen(end), end);
		if (!cases[i].stays)
			assert_int_equal(seen.len, strlen(first) + strlen(end));
	}
}

static void the_victim_is_the_process_or_a_thread_of_it(void **state)
{
	(void)state;
	assert_false(oom_report_is_victim(&report, 12));
	say("own invoked oom-killer: order=0");
	say("[     16]     0    12      684      128 victim");
	say("[     17]     0    18      684      128 other");
	say(LIMIT_OF_NODE);
	assert_true(oom_report_is_victim(&report, 12));
	assert_true(oom_report_is_victim(&report, 16));
	assert_false(oom_report_is_victim(&report, 17));
	assert_false(oom_report_is_victim(&report, 0));
}

static void lines_outside_of_a_report_are_no_part_of_one(void **state)
{
	(void)state;
	say("Mem-Info:");
	say(LIMIT_OF_NODE);
	assert_int_equal(report.began_us, 0);
	look(UID_A);
	sees("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_pod_reads_nothing_of_another_when_the_node_has_no_memory_left, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(the_name_of_its_own_process_stays, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(at_the_pods_own_limit_all_processes_are_its_own,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_table_that_is_too_long_is_left_out_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_victim_is_the_process_or_a_thread_of_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lines_outside_of_a_report_are_no_part_of_one,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
