/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of programs that work for the recorder. Here they are the system's, not those beside it. */
#include "sidecar/crash/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

#define OF_THE_SYSTEM "../../../../../../../../../../../../../../../../bin/"

static struct event_base *base;
static struct child_result result;
static char output[64];
static unsigned int n_done;

static int setup(void **state)
{
	(void)state;
	n_done = 0;
	base = event_base_new();
	alarm(30); /* where the loop does not come back */
	return base ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	alarm(0);
	event_base_free(base);
	return 0;
}

static void on_done(const struct child_result *r, void *arg)
{
	assert_null(arg);
	result = *r;
	snprintf(output, sizeof(output), "%s", r->output);
	n_done++;
	event_base_loopbreak(base);
}

static void run(const struct child_work *work)
{
	struct child *child = NULL;

	assert_int_equal(child_start(base, work, on_done, NULL, &child, NULL), 0);
	event_base_dispatch(base);
	assert_int_equal(n_done, 1);
}

static void what_it_wrote_up_to_a_limit_is_there_at_its_end(void **state)
{
	const struct child_work work = {
		.program = OF_THE_SYSTEM "sh", .args = { "-c", "echo 0123456789; exit 3" }, .output_max = 5, .within_ns = 20 * NS_PER_SEC,
	};
	(void)state;

	run(&work);
	assert_string_equal(output, "01234");
	assert_int_equal(result.output_len, 5);
	assert_false(result.exited_well);
	assert_false(result.timed_out);
	assert_int_equal(WEXITSTATUS(result.status), 3);
}

/* Ours has credentials: AWS_SECRET_ACCESS_KEY in a pod with a store. */
static void it_has_none_of_our_environment(void **state)
{
	const struct child_work work = { .program = OF_THE_SYSTEM "env", .output_max = 60, .within_ns = 20 * NS_PER_SEC };
	(void)state;

	assert_int_equal(setenv("SECRET_OF_OURS", "x", 1), 0);
	run(&work);
	assert_true(result.exited_well);
#if !defined(__SANITIZE_ADDRESS__)
	assert_string_equal(output, "");
#endif
	assert_null(strstr(output, "SECRET_OF_OURS"));
}

static void one_that_writes_without_end_is_ended_when_its_time_is_over(void **state)
{
	const struct child_work work = {
		.program = OF_THE_SYSTEM "cat", .args = { "/dev/zero" }, .output_max = 4096, .within_ns = 2 * NS_PER_SEC,
	};
	int64_t began = now_boottime_ns();
	(void)state;

	run(&work);
	assert_true(result.timed_out);
	assert_int_equal(WTERMSIG(result.status), SIGKILL);
	assert_int_equal(result.output_len, 4096);
	assert_true(now_boottime_ns() - began < 10 * NS_PER_SEC);
}

static void one_that_is_not_there_is_said_to_belong_there(void **state)
{
	const struct child_work work = { .program = "afterglow-nothing", .output_max = 1, .within_ns = NS_PER_SEC };
	struct child *child = NULL;
	struct err err = { 0 };
	(void)state;

	assert_true(child_start(base, &work, on_done, NULL, &child, &err) < 0);
	assert_non_null(strstr(err_text(&err), "afterglow-nothing, which belongs beside"));
	assert_null(child);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_it_wrote_up_to_a_limit_is_there_at_its_end),
		TEST(it_has_none_of_our_environment),
		TEST(one_that_writes_without_end_is_ended_when_its_time_is_over),
		TEST(one_that_is_not_there_is_said_to_belong_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
