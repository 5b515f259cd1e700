/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of programs that work for us. */
#include "lib/loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

#define ARGV(...) (const char *const[]){ __VA_ARGS__, NULL }

static struct event_base *base;
static struct child_result result;
static char output[64], extra[64];
static unsigned int n_done;

static int setup(void **state)
{
	(void)state;
	n_done = 0;
	base = event_base_new();
	alarm(180); /* kills the test if the event loop does not return */
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
	snprintf(extra, sizeof(extra), "%s", r->extra);
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
		.path = "/bin/sh", .argv = ARGV("sh", "-c", "echo 0123456789; exit 3"), .output_max = 5, .within_ns = 60 * NS_PER_SEC,
	};
	(void)state;

	run(&work);
	assert_string_equal(output, "01234");
	assert_int_equal(result.output_len, 5);
	assert_false(result.exited_well);
	assert_false(result.timed_out);
	assert_int_equal(WEXITSTATUS(result.status), 3);
}

/* Our environment holds credentials, such as AWS_SECRET_ACCESS_KEY in a pod with a store. */
static void it_has_none_of_our_environment(void **state)
{
	const struct child_work work = {
		.path = "env", .argv = ARGV("env"), .output_max = 60, .within_ns = 60 * NS_PER_SEC
	};
	(void)state;

	assert_int_equal(setenv("SECRET_OF_OURS", "x", 1), 0);
	run(&work);
	assert_true(result.exited_well);
#if !defined(__SANITIZE_ADDRESS__)
	assert_string_equal(output, "");
#endif
	assert_null(strstr(output, "SECRET_OF_OURS"));
}

static void the_oom_killer_takes_it_before_us(void **state)
{
	const struct child_work work = {
		.path = "cat", .argv = ARGV("cat", "/proc/self/oom_score_adj"), .output_max = 60, .within_ns = 60 * NS_PER_SEC,
	};
	(void)state;

	run(&work);
	assert_string_equal(output, "1000\n");
}

static void one_that_writes_without_end_is_ended_when_its_time_is_over(void **state)
{
	const struct child_work work = {
		.path = "cat", .argv = ARGV("cat", "/dev/zero"), .output_max = 4096, .within_ns = NS_PER_SEC / 2,
	};
	(void)state;

	run(&work);
	assert_true(result.timed_out);
	assert_int_equal(WTERMSIG(result.status), SIGKILL);
	assert_int_equal(result.output_len, 4096);
}

static void one_that_cannot_be_started_fails_at_once_with_the_reason(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = { { "/no/such/program", ENOENT },
		     { "/etc/passwd", EACCES },
		     { "no-such-program-at-all", ENOENT } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct child_work work = { .path = rows[i].path,
						 .argv = ARGV("x"),
						 .within_ns = NS_PER_SEC };
		struct child *child = NULL;
		struct err err = { 0 };

		assert_int_equal(child_start(base, &work, on_done, NULL, &child, &err),
				 -rows[i].code);
		assert_non_null(strstr(err_text(&err), rows[i].path));
		assert_null(child);
	}
	assert_int_equal(n_done, 0);
}

static char lines[256];

static void on_line(const char *line, size_t len, void *arg)
{
	size_t n = strlen(lines);
	(void)arg;

	snprintf(lines + n, sizeof(lines) - n, "[%.*s]", (int)len, line);
}

static void lines_come_whole_and_one_that_is_too_long_not_at_all(void **state)
{
	const struct child_work work = {
		.path = "sh", .argv = ARGV("sh", "-c", "printf 'a\\n12345678\\n123456789\\n\\nb\\nno end'"), .on_line = on_line, .line_max = 8,
		.within_ns = 60 * NS_PER_SEC,
	};
	(void)state;

	lines[0] = '\0';
	run(&work);
	assert_true(result.exited_well);
	assert_string_equal(lines, "[a][12345678][][b]");
	assert_string_equal(output, "");
}

static struct child *extended;

static void extend(const char *line, size_t len, void *arg)
{
	(void)line;
	(void)len;
	(void)arg;
	child_extend(extended, 60 * NS_PER_SEC);
}

static void a_child_that_writes_output_may_get_more_time(void **state)
{
	const struct child_work work = {
		.path = "sh", .argv = ARGV("sh", "-c", "echo; exec sleep 1"), .on_line = extend, .line_max = 8, .within_ns = NS_PER_SEC / 2,
	};
	(void)state;

	assert_int_equal(child_start(base, &work, on_done, NULL, &extended, NULL), 0);
	event_base_dispatch(base);
	assert_true(result.exited_well);
	assert_false(result.timed_out);
}

static void it_has_its_descriptors_and_no_other_of_ours(void **state)
{
	_cleanup_close_ int mine = open("/etc/passwd", O_RDONLY | O_CLOEXEC),
			    forgotten = open("/etc/passwd", O_RDONLY);
	const struct child_work work = {
		.path = "sh", .argv = ARGV("sh", "-c", "ls /proc/$$/fd; echo extra >&4"), .fds = { mine }, .n_fds = 1,
		.output_max = 60, .extra_max = 60, .within_ns = 60 * NS_PER_SEC,
	};
	(void)state;

	assert_return_code(forgotten, 0);
	run(&work);
	/* The command uses no pipe of the shell, which would be listed as well. */
	assert_string_equal(output, "0\n1\n2\n3\n4\n");
	assert_string_equal(extra, "extra\n");
}

/* A process that it left behind may keep its output open for ever. */
static void its_own_end_is_the_end(void **state)
{
	const struct child_work work = {
		.path = "sh", .argv = ARGV("sh", "-c", "sleep 5 & echo out"), .output_max = 60, .within_ns = 60 * NS_PER_SEC,
	};
	(void)state;

	run(&work);
	assert_string_equal(output, "out\n");
	assert_true(result.exited_well);
}

static void a_cancelled_child_is_killed_and_nothing_is_reported(void **state)
{
	const struct child_work work = { .path = "sleep",
					 .argv = ARGV("sleep", "1000"),
					 .within_ns = 60 * NS_PER_SEC };
	struct child *child = NULL;
	(void)state;

	assert_int_equal(child_start(base, &work, on_done, NULL, &child, NULL), 0);
	child_cancel(child);
	child_cancel(NULL);
	/* The killed child ends soon. Then no event is left, and the event loop returns. */
	event_base_dispatch(base);
	assert_int_equal(n_done, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_it_wrote_up_to_a_limit_is_there_at_its_end),
		TEST(it_has_none_of_our_environment),
		TEST(the_oom_killer_takes_it_before_us),
		TEST(one_that_writes_without_end_is_ended_when_its_time_is_over),
		TEST(one_that_cannot_be_started_fails_at_once_with_the_reason),
		TEST(lines_come_whole_and_one_that_is_too_long_not_at_all),
		TEST(a_child_that_writes_output_may_get_more_time),
		TEST(it_has_its_descriptors_and_no_other_of_ours),
		TEST(its_own_end_is_the_end),
		TEST(a_cancelled_child_is_killed_and_nothing_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
