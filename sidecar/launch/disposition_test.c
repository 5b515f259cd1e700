/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/PID/status; real processes are in e2e/kernel/launch_signals_test.c. */
#include "sidecar/launch/disposition.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

#define STATUS(blocked, ignored, caught) \
	"Name:\tsh\nSigPnd:\t0000000000000000\nSigBlk:\t" blocked "\nSigIgn:\t" ignored "\nSigCgt:\t" caught "\nCapInh:\t0\n"
#define NONE "0000000000000000"
#define ALL "ffffffffffffffff"
#define TERM "0000000000004000"
#define LAST "8000000000000000" /* 64 */

static void a_signal_without_handler_is_dropped_unless_it_is_blocked(void **state)
{
	static const struct {
		const char *status;
		int signo;
		enum disposition want;
	} rows[] = {
		{ STATUS(NONE, NONE, NONE), SIGTERM, DISPOSITION_DROPPED },
		{ STATUS(NONE, NONE, TERM), SIGTERM, DISPOSITION_TAKEN },
		{ STATUS(NONE, NONE, TERM), SIGINT, DISPOSITION_DROPPED },
		{ STATUS(NONE, TERM, NONE), SIGTERM, DISPOSITION_TAKEN },
		{ STATUS(TERM, NONE, NONE), SIGTERM, DISPOSITION_BLOCKED },
		{ STATUS(TERM, NONE, TERM), SIGTERM, DISPOSITION_TAKEN },
		{ STATUS(ALL, NONE, NONE), SIGHUP, DISPOSITION_BLOCKED },
		{ STATUS(NONE, NONE, LAST), 64, DISPOSITION_TAKEN },
		{ STATUS(NONE, NONE, LAST), 63, DISPOSITION_DROPPED },
		/*
		 * The name of a process is the only text that it chooses; the kernel escapes its
		 * line ends.
		 */
		{ "Name:\t\\nSigCgt:\t" ALL "\n" STATUS(NONE, NONE, NONE), SIGTERM, DISPOSITION_DROPPED },
		{ "Name:\tSigCgt:\t" ALL "\n" STATUS(NONE, NONE, NONE), SIGTERM, DISPOSITION_DROPPED },
		/* Nobody can tell. */
		{ "", SIGTERM, DISPOSITION_TAKEN },
		{ "Name:\tsh\n", SIGTERM, DISPOSITION_TAKEN },
		{ "Name:\tsh\nSigBlk:\t" NONE "\nSigIgn:\t" NONE "\nSigCgt:\t0000", SIGTERM, DISPOSITION_TAKEN },
		{ STATUS("x", NONE, NONE), SIGTERM, DISPOSITION_TAKEN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (disposition_of(rows[i].status, rows[i].signo) != rows[i].want)
			fail_msg("row %zu: %d", i,
				 (int)disposition_of(rows[i].status, rows[i].signo));
}

static void a_process_that_cannot_be_seen_gets_its_signals(void **state)
{
	(void)state;
	assert_int_equal(disposition_read(INT32_MAX, SIGTERM), DISPOSITION_TAKEN);
}

static void a_handler_is_seen_as_soon_as_it_is_set(void **state)
{
	(void)state;
	signal(SIGUSR2, SIG_DFL);
	assert_int_equal(disposition_read(getpid(), SIGUSR2), DISPOSITION_DROPPED);
	signal(SIGUSR2, SIG_IGN);
	assert_int_equal(disposition_read(getpid(), SIGUSR2), DISPOSITION_TAKEN);
}

/*
 * A change of user would make the launcher undumpable: its files in /proc would be closed to the
 * container's own user.
 */
static void a_look_at_a_process_of_another_user_leaves_ours_dumpable(void **state)
{
	int ready[2];
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
		_exit(setgid(65534) < 0 || setuid(65534) < 0 ||
		      prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || execlp("sleep", "sleep", "60", NULL));
	close(ready[1]);
	assert_int_equal(read(ready[0], &(char){ 0 }, 1), 0); /* it has executed it */
	assert_int_equal(disposition_read(pid, SIGUSR1), DISPOSITION_DROPPED);
	assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_without_handler_is_dropped_unless_it_is_blocked),
		cmocka_unit_test(a_process_that_cannot_be_seen_gets_its_signals),
		cmocka_unit_test(a_handler_is_seen_as_soon_as_it_is_set),
		cmocka_unit_test(a_look_at_a_process_of_another_user_leaves_ours_dumpable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
