/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading /proc/PID/stat, on this machine's own processes. */
#include "sidecar/sample/proc_stat.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int root(void)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void a_process_is_gone_from_its_death_on_although_nobody_reaped_it(void **state)
{
	int fd = root();
	pid_t child = fork();
	siginfo_t info;

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	assert_true(child > 0);
	assert_false(proc_stat_gone(fd, child));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_stat_gone(fd, child));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(proc_stat_gone(fd, child));
	close(fd);
}

static void the_text_begins_with_the_pid(void **state)
{
	char text[PROC_STAT_MAX];
	int fd = root();

	(void)state;
	assert_true(proc_stat_read(fd, getpid(), text));
	assert_int_equal(strtol(text, NULL, 10), getpid());
	assert_false(proc_stat_read(fd, -1, text));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_gone_from_its_death_on_although_nobody_reaped_it),
		cmocka_unit_test(the_text_begins_with_the_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
