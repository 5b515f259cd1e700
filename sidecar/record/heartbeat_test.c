/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of watching the event loop. The process that hangs is a child. */
#include "sidecar/record/heartbeat.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

#define LOOK_NS (10 * NS_PER_MS)

static const struct heartbeat_patience impatient = { .look_ns = LOOK_NS,
						     .say_after = 2,
						     .end_after = 4 };

/* --- Ways to hang --- */

static void hang_idle(void)
{
	for (;;)
		pause();
}

/* Hangs like a process that waits for a disk: only SIGKILL ends the sleep, and ps shows it as D. */
static void hang_uninterruptibly(void)
{
	pid_t loop = getpid();

	if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != loop)
			_exit(0);
		close(STDERR_FILENO);
		hang_idle();
	}
}

/*
 * Runs a process that beats so often and then hangs or, with NULL, exits with 0. Returns its wait
 * status, and what it wrote to stderr.
 */
static int run(unsigned int beats, void (*hang)(void), char *text, size_t size)
{
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		if (heartbeat_start(&impatient, NULL) < 0)
			_exit(1);
		for (unsigned int i = 0; i < beats; i++) {
			heartbeat_beat(now_boottime_ns());
			usleep(LOOK_NS / 4000);
		}
		if (hang)
			hang();
		_exit(0);
	}
	close(ends[1]);
	while (len < size - 1 && (n = read(ends[0], text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_loop_that_hangs_is_logged_and_ended(void **state)
{
	char text[2048];
	int status = run(3, hang_idle, text, sizeof(text));
	(void)state;

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), HEARTBEAT_EXIT);
	assert_non_null(strstr(text, "the event loop has not turned for 0 s; system call "));
	assert_non_null(strstr(text, "the sidecar exits"));
}

static void a_loop_in_an_uninterruptible_sleep_is_ended_as_well(void **state)
{
	char text[2048];
	int status = run(3, hang_uninterruptibly, text, sizeof(text));
	(void)state;

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), HEARTBEAT_EXIT);
	assert_non_null(strstr(text, "the sidecar exits"));
}

static void one_that_never_began_is_ended_too(void **state)
{
	char text[2048];
	(void)state;

	assert_int_equal(WEXITSTATUS(run(0, hang_idle, text, sizeof(text))), HEARTBEAT_EXIT);
}

/* Bytes of the address space */
static long long mapped(void)
{
	long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%lld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static void its_thread_has_a_small_stack_on_every_machine(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		const struct heartbeat_patience patient = { .look_ns = NS_PER_SEC,
							    .say_after = 300,
							    .end_after = 600 };
		long long before = mapped();
		bool well = heartbeat_start(&patient, NULL) == 0 && before > 0;

		_exit(well && mapped() - before < 4 << 20 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void the_longest_pause_is_remembered(void **state)
{
	(void)state;
	heartbeat_beat(NS_PER_SEC);
	heartbeat_beat(2 * NS_PER_SEC);
	heartbeat_beat(7 * NS_PER_SEC);
	heartbeat_beat(8 * NS_PER_SEC);
	assert_int_equal(heartbeat_longest_ns(), 5 * NS_PER_SEC);
	assert_int_equal(heartbeat_age_ns(10 * NS_PER_SEC), 2 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_that_hangs_is_logged_and_ended),
		cmocka_unit_test(a_loop_in_an_uninterruptible_sleep_is_ended_as_well),
		cmocka_unit_test(one_that_never_began_is_ended_too),
		cmocka_unit_test(its_thread_has_a_small_stack_on_every_machine),
		cmocka_unit_test(the_longest_pause_is_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
