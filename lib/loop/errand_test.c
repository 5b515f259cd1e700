/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of work that may hang. What hangs here waits for a signal that nobody sends. */
#include "lib/loop/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

#define SOON (60 * NS_PER_SEC) /* a generous limit for what takes no time */

static void hang(void)
{
	for (;;)
		pause();
}

static void fill_sum(const void *arg, void *out)
{
	const int *parts = arg;

	*(int *)out = parts[0] + parts[1];
}

static void fill_never(const void *arg, void *out)
{
	(void)arg;
	(void)out;
	hang();
}

/* Returns whether the value comes in time. */
static bool ask(struct errand *e, errand_fill_fn fn, const void *arg, int *out, int64_t within_ns)
{
	struct pollfd p = { .events = POLLIN };

	if (errand_ask(e, fn, arg, out, sizeof(*out), NULL) < 0)
		return false;
	p.fd = e->fd;
	poll(&p, 1, (int)(within_ns / NS_PER_MS));
	bool came = errand_take(e, out, sizeof(*out));
	/* Its end may come a little later. */
	if (came && e->pid)
		errand_wait_outside_loop(e, SOON, errand_ignore, NULL);
	return came;
}

static void what_comes_back_in_time_is_taken(void **state)
{
	struct errand e = ERRAND_NONE;
	int sum = 0;
	(void)state;

	assert_true(ask(&e, fill_sum, (int[]){ 3, 4 }, &sum, SOON));
	assert_int_equal(sum, 7);
	assert_false(errand_busy(&e));
	assert_true(ask(&e, fill_sum, (int[]){ 5, 6 }, &sum, SOON));
	assert_int_equal(sum, 11);
}

static void one_that_hangs_is_left_behind_and_no_other_is_started(void **state)
{
	struct errand e = ERRAND_NONE;
	int value = 1;
	(void)state;

	assert_false(ask(&e, fill_never, NULL, &value, NS_PER_MS));
	assert_int_equal(value, 1);
	assert_true(errand_busy(&e));
	/* The time limit is too small to be of use, so the errand is not tried in this process. */
	assert_false(ask(&e, fill_sum, (int[]){ 3, 4 }, &value, SOON));
	errand_cancel(&e);
	assert_false(errand_busy(&e));
	assert_true(ask(&e, fill_sum, (int[]){ 3, 4 }, &value, SOON));
	errand_cancel(&e);
}

static void die(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	raise(SIGKILL);
}

static void unexpected(const void *data, size_t len, int *passed_fd, void *arg)
{
	(void)data;
	(void)len;
	(void)passed_fd;
	(void)arg;
	fail();
}

static void one_that_dies_is_over(void **state)
{
	struct errand e = ERRAND_NONE;
	(void)state;

	assert_int_equal(errand_start(&e, die, NULL, NULL), 0);
	assert_true(errand_wait_outside_loop(&e, SOON, unexpected, NULL));
	assert_false(errand_busy(&e));
}

/* Answers each message with its own length and a descriptor. */
static void echo(int fd, void *arg)
{
	char text[64];
	size_t n;

	(void)arg;
	while ((n = errand_receive(fd, text, sizeof(text))))
		errand_send(fd, text, n, STDERR_FILENO);
}

static void take_echo(const void *data, size_t len, int *passed_fd, void *arg)
{
	char *text = arg;

	assert_true(*passed_fd >= 0);
	memcpy(text, data, len);
	text[len] = '\0';
}

static void wait_for_echo(struct errand *e, char *text)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, (int)(SOON / NS_PER_MS)), 1);
	assert_false(errand_listen(e, take_echo, text));
}

static void questions_are_answered_one_after_the_other(void **state)
{
	struct errand e = ERRAND_NONE;
	char text[64] = "";
	(void)state;

	assert_int_equal(errand_start(&e, echo, NULL, NULL), 0);
	assert_true(errand_send(e.fd, "one", 3, -1));
	wait_for_echo(&e, text);
	assert_string_equal(text, "one");
	assert_false(errand_listen(&e, unexpected, NULL));
	assert_true(errand_send(e.fd, "two", 3, -1));
	wait_for_echo(&e, text);
	assert_string_equal(text, "two");
	errand_cancel(&e);
}

static void nobody_waits_while_a_loop_runs(void **state)
{
	struct errand e = ERRAND_NONE;
	int status;
	pid_t pid;
	(void)state;

	assert_true(errand_wait_outside_loop(&e, SOON, errand_ignore, NULL));
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		errand_loop_runs(true);
		errand_wait_outside_loop(&e, SOON, errand_ignore, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* Does two steps, of which the first hangs if *arg is true, and sends the done ones. */
static void two_steps(int fd, void *arg)
{
	const bool *hangs = arg;
	char done[3] = "--";

	if (errand_try(*hangs ? 20 * NS_PER_MS : SOON)) {
		if (*hangs)
			hang();
		done[0] = '1';
		errand_tried();
	}
	if (errand_try(SOON)) {
		done[1] = '2';
		errand_tried();
	}
	errand_send(fd, done, 2, -1);
}

static void take_steps(const void *data, size_t len, int *passed_fd, void *arg)
{
	(void)passed_fd;
	assert_int_equal(len, 2);
	memcpy(arg, data, len);
}

static void a_step_that_hangs_is_left_out(void **state)
{
	static bool hangs[] = { false, true };
	static const char *const expected[] = { "12", "-2" };
	struct errand e = ERRAND_NONE;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(hangs); i++) {
		char done[3] = "";

		assert_int_equal(errand_start(&e, two_steps, &hangs[i], NULL), 0);
		assert_true(errand_wait_outside_loop(&e, SOON, take_steps, done));
		assert_string_equal(done, expected[i]);
	}
}

/* A launcher waits until its connection is closed. */
static void a_connection_that_we_close_is_closed(void **state)
{
	struct errand e = ERRAND_NONE;
	int ends[2], value;
	char byte;
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_false(ask(&e, fill_never, NULL, &value, 50 * NS_PER_MS));
	close(ends[0]);
	assert_int_equal(read(ends[1], &byte, 1), 0);
	close(ends[1]);
	errand_cancel(&e);
}

/* Stands for a file on a filesystem that does not answer. */
static int dead_fd = -1;

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);

int __wrap_fstat(int fd, struct stat *st)
{
	if (fd == dead_fd)
		hang();
	return __real_fstat(fd, st);
}

static void what_is_open_on_a_dead_filesystem_is_not_touched(void **state)
{
	struct errand e = ERRAND_NONE;
	int sum = 0;
	(void)state;

	dead_fd = open("/", O_PATH | O_CLOEXEC);
	assert_true(dead_fd >= 0);
	assert_true(ask(&e, fill_sum, (int[]){ 3, 4 }, &sum, SOON));
	assert_int_equal(sum, 7);
	close(dead_fd);
	dead_fd = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_back_in_time_is_taken),
		cmocka_unit_test(one_that_hangs_is_left_behind_and_no_other_is_started),
		cmocka_unit_test(one_that_dies_is_over),
		cmocka_unit_test(questions_are_answered_one_after_the_other),
		cmocka_unit_test(nobody_waits_while_a_loop_runs),
		cmocka_unit_test(a_step_that_hangs_is_left_out),
		cmocka_unit_test(a_connection_that_we_close_is_closed),
		cmocka_unit_test(what_is_open_on_a_dead_filesystem_is_not_touched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
