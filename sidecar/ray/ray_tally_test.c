/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of counting workers' deaths, under a clock of our own. */
#include "sidecar/ray/ray_tally.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define S NS_PER_SEC
#define START (1000 * S)

static struct ray_tally t;
static unsigned int left_out;

static int setup(void **state)
{
	(void)state;
	ray_tally_init(&t, START);
	ray_tally_kernel(&t, START, 0);
	return 0;
}

static enum ray_outcome tell_status(int64_t at_s, enum ray_kind kind, pid_t pid, const char *task,
				    int wait_status)
{
	struct ray_event e = { .kind = kind, .pid = pid, .workers = 1 };

	snprintf(e.task, sizeof(e.task), "%s", task);
	return ray_tally_event(&t, START + at_s * S, &e, wait_status, &left_out);
}

static enum ray_outcome tell(int64_t at_s, enum ray_kind kind, pid_t pid, const char *task)
{
	return tell_status(at_s, kind, pid, task, -1);
}

static void a_death_in_two_logs_counts_once(void **state)
{
	struct ray_summary s;
	(void)state;

	assert_int_equal(tell(1, RAY_MEMORY_KILL, 7, "ray::leak"), RAY_REPORT);
	assert_int_equal(tell(1, RAY_MEMORY_KILL, 7, "ray::leak"), RAY_KNOWN);
	assert_int_equal(tell(2, RAY_WORKER_CRASH, 7, ""), RAY_KNOWN);
	assert_true(ray_tally_summary(&t, START + 60 * S, false, &s));
	assert_int_equal(s.memory_kills, 1);
	assert_int_equal(s.crashes, 0);
}

static void another_end_of_the_same_actor_is_reported(void **state)
{
	(void)state;
	assert_int_equal(tell_status(1, RAY_WORKER_CRASH, 1, "ray::Model", SIGSEGV), RAY_REPORT);
	assert_int_equal(tell_status(2, RAY_WORKER_CRASH, 2, "ray::Model", 5 << 8), RAY_REPORT);
	assert_int_equal(tell_status(3, RAY_WORKER_CRASH, 3, "ray::Model", SIGSEGV), RAY_COUNTED);
	assert_int_equal(tell_status(4, RAY_WORKER_CRASH, 4, "ray::Model", 5 << 8), RAY_COUNTED);
}

static void the_same_task_is_reported_once_in_five_minutes(void **state)
{
	(void)state;
	assert_int_equal(tell(1, RAY_WORKER_CRASH, 1, "ray::a"), RAY_REPORT);
	for (int i = 2; i < 52; i++)
		assert_int_equal(tell(i, RAY_WORKER_CRASH, i, "ray::a"), RAY_COUNTED);
	assert_int_equal(tell(52, RAY_WORKER_CRASH, 100, "ray::b"), RAY_REPORT);
	assert_int_equal(tell(53, RAY_MEMORY_KILL, 101, "ray::a"), RAY_REPORT);
	assert_int_equal(left_out, 0);
	assert_int_equal(tell(302, RAY_WORKER_CRASH, 102, "ray::a"), RAY_REPORT);
	assert_int_equal(left_out, 50);
	assert_int_equal(tell(303, RAY_WORKER_CRASH, 103, "ray::a"), RAY_COUNTED);
}

static void new_names_each_time_do_not_make_endless_reports(void **state)
{
	unsigned int reports = 0;
	struct ray_summary s;
	(void)state;

	for (int i = 1; i <= 290; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ray::task%d", i);
		reports += tell(i, RAY_WORKER_CRASH, i, name) == RAY_REPORT;
	}
	assert_int_equal(reports, RAY_REPORTS_MAX);
	assert_true(ray_tally_summary(&t, START + 290 * S, false, &s));
	assert_int_equal(s.crashes, 290);
	assert_int_equal(tell(700, RAY_WORKER_CRASH, 1000, "ray::task1000"), RAY_REPORT);
}

static void what_the_kernel_took_is_no_crash(void **state)
{
	struct ray_summary s;
	char text[256];
	(void)state;

	ray_tally_kernel(&t, START + 10 * S, 2);
	assert_int_equal(tell(11, RAY_WORKER_CRASH, 1, "ray::a"), RAY_KNOWN);
	assert_int_equal(tell(11, RAY_WORKER_CRASH, 2, "ray::a"), RAY_KNOWN);
	assert_int_equal(tell(12, RAY_WORKER_CRASH, 3, "ray::a"), RAY_REPORT);
	/* Long after the OOM kill, a crash is a separate event. */
	ray_tally_kernel(&t, START + 20 * S, 3);
	assert_int_equal(tell(40, RAY_WORKER_CRASH, 4, "ray::b"), RAY_REPORT);
	assert_true(ray_tally_summary(&t, START + 60 * S, false, &s));
	assert_int_equal(s.kernel_kills, 3);
	assert_int_equal(s.crashes, 2);
	assert_string_equal(
		ray_summary_format(&s, "w-1", text, sizeof(text)),
		"3 Workers (tasks / actors) killed due to memory pressure (OOM), 2 Workers crashed due to other "
		"reasons at w-1 in the last 60 s (0 by Ray's memory monitor, 3 by the kernel's OOM killer)");
}

static void a_quiet_minute_says_nothing(void **state)
{
	struct ray_summary s;
	(void)state;

	assert_false(ray_tally_summary(&t, START + 60 * S, false, &s));
	tell(70, RAY_WORKER_CRASH, 1, "");
	assert_false(ray_tally_summary(&t, START + 119 * S, false, &s));
	assert_true(ray_tally_summary(&t, START + 120 * S, false, &s));
	assert_int_equal(s.span_ns, 60 * S);
	assert_false(ray_tally_summary(&t, START + 180 * S, false, &s));
}

static void the_end_says_how_many_deaths_got_no_report(void **state)
{
	struct ray_summary s;
	(void)state;

	tell(1, RAY_WORKER_CRASH, 1, "ray::a");
	tell(1, RAY_NODE_LOST, 0, "");
	tell(2, RAY_NODE_LOST, 0, "");
	assert_false(ray_tally_summary(&t, START + 3 * S, true, &s));
	tell(4, RAY_WORKER_CRASH, 2, "ray::a");
	assert_true(ray_tally_summary(&t, START + 5 * S, true, &s));
	assert_int_equal(s.crashes, 2);
	assert_int_equal(s.span_ns, 5 * S);
	assert_false(ray_tally_summary(&t, START + 6 * S, true, &s));
}

static void descriptors_that_run_out_again_and_again_run_out_once(void **state)
{
	struct ray_summary s;
	(void)state;

	assert_int_equal(tell(0, RAY_FDS_EXHAUSTED, 0, ""), RAY_REPORT);
	for (int i = 1; i < 50; i++)
		assert_int_equal(tell(i, RAY_FDS_EXHAUSTED, 0, ""), RAY_KNOWN);
	assert_true(ray_tally_summary(&t, START + 60 * S, false, &s));
	assert_int_equal(s.fds_exhausted, 1);
	assert_int_equal(s.crashes, 0);
}

static void a_lost_node_is_reported_once_and_is_no_worker(void **state)
{
	struct ray_summary s;
	(void)state;

	assert_int_equal(tell(0, RAY_NODE_LOST, 0, ""), RAY_REPORT);
	assert_int_equal(tell(13, RAY_NODE_LOST, 0, ""), RAY_COUNTED);
	assert_false(ray_tally_summary(&t, START + 60 * S, false, &s));
}

static void several_workers_at_once_all_count(void **state)
{
	struct ray_event e = { .kind = RAY_MEMORY_KILL, .pid = 5, .workers = 3 };
	struct ray_summary s;
	(void)state;

	ray_tally_event(&t, START, &e, -1, &left_out);
	assert_true(ray_tally_summary(&t, START + 60 * S, false, &s));
	assert_int_equal(s.memory_kills, 3);
}

static void a_counter_that_is_not_known_or_goes_back_is_no_kill(void **state)
{
	struct ray_summary s;
	(void)state;

	ray_tally_init(&t, START);
	ray_tally_kernel(&t, START, -1);
	ray_tally_kernel(&t, START, 7); /* it was before our time */
	ray_tally_kernel(&t, START, -1);
	ray_tally_kernel(&t, START, 5);
	assert_false(ray_tally_summary(&t, START + 60 * S, false, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_death_in_two_logs_counts_once, setup),
		cmocka_unit_test_setup(another_end_of_the_same_actor_is_reported, setup),
		cmocka_unit_test_setup(the_same_task_is_reported_once_in_five_minutes, setup),
		cmocka_unit_test_setup(new_names_each_time_do_not_make_endless_reports, setup),
		cmocka_unit_test_setup(what_the_kernel_took_is_no_crash, setup),
		cmocka_unit_test_setup(a_quiet_minute_says_nothing, setup),
		cmocka_unit_test_setup(the_end_says_how_many_deaths_got_no_report, setup),
		cmocka_unit_test_setup(descriptors_that_run_out_again_and_again_run_out_once, setup),
		cmocka_unit_test_setup(a_lost_node_is_reported_once_and_is_no_worker, setup),
		cmocka_unit_test_setup(several_workers_at_once_all_count, setup),
		cmocka_unit_test_setup(a_counter_that_is_not_known_or_goes_back_is_no_kill, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
