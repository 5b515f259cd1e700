/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/leave_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static unsigned int n_asked;

int __real_fcntl(int fd, int what, long value);
int __wrap_fcntl(int fd, int what, long value);
int __wrap_fcntl(int fd, int what, long value)
{
	n_asked++;
	return __real_fcntl(fd, what, value);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD, 0L) >= 0;
}

static bool is_null(int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat("/dev/null", &b) == 0 && a.st_rdev == b.st_rdev &&
	       S_ISCHR(a.st_mode);
}

/*
 * Runs check(far) in a child, whose stdin, stdout and stderr are a pipe; the pipe is open at the
 * number `far`, too. Returns the child's exit code: 0 if check returned true.
 */
static int in_child(bool (*check)(int far, const int own[2]))
{
	struct rlimit limit = { 100001, 100001 };
	int pipes[2], own[2], status, far;
	pid_t pid;

	/* Raising its hard limit takes root. */
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	far = (int)limit.rlim_cur - 1;
	assert_int_equal(pipe2(own, O_CLOEXEC), 0);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		for (int fd = 0; fd <= STDERR_FILENO; fd++)
			dup2(pipes[1], fd);
		dup2(pipes[1], far);
		_exit(!check(far, own));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 2; i++) {
		close(pipes[i]);
		close(own[i]);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool own_ones_stay(int far, const int own[2])
{
	leave_session(KEEP_OWN);
	return is_null(0) && is_null(1) && is_null(2) && !is_open(far) && is_open(own[0]) &&
	       is_open(own[1]) && getsid(0) == getpid();
}

static void what_was_inherited_goes_whatever_its_number(void **state)
{
	(void)state;
	assert_int_equal(in_child(own_ones_stay), 0);
}

static bool one_stays(int far, const int own[2])
{
	leave_session(own[1]);
	return is_null(0) && is_null(1) && is_null(2) && !is_open(far) && !is_open(own[0]) &&
	       is_open(own[1]) && getsid(0) == getpid();
}

static void a_fork_keeps_one(void **state)
{
	(void)state;
	assert_int_equal(in_child(one_stays), 0);
}

static bool none_is_left_open(int far, const int own[2])
{
	int next = open("/", O_PATH | O_CLOEXEC);

	(void)far;
	(void)own;
	close(next);
	leave_session(KEEP_OWN);
	return open("/", O_PATH | O_CLOEXEC) <= next;
}

static void it_leaves_no_descriptor_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(in_child(none_is_left_open), 0);
}

static bool few_are_asked_about(int far, const int own[2])
{
	(void)far;
	(void)own;
	n_asked = 0;
	leave_session(KEEP_OWN);
	return n_asked < 1000;
}

static void numbers_that_are_not_open_cost_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(few_are_asked_about), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_inherited_goes_whatever_its_number),
		cmocka_unit_test(a_fork_keeps_one),
		cmocka_unit_test(it_leaves_no_descriptor_of_its_own),
		cmocka_unit_test(numbers_that_are_not_open_cost_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
