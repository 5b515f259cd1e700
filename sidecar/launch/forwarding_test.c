/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what reaches the command of the signals to `afterglow run` and to its process group. */
#include "sidecar/launch/forwarding.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "sidecar/launch/clock.h"

#define SIGNO 40 /* a real-time signal, as they are counted */

/* Returns how many have come to us, who are the command. */
static int signals_count(const sigset_t *set)
{
	int n = 0;

	while (sigtimedwait(set, NULL, &(struct timespec){ 0 }) == SIGNO)
		n++;
	return n;
}

static void the_command_gets_each_signal_as_often_as_without_us(void **state)
{
	static const struct {
		const char *what;
		struct {
			int at_ms;
			/*
			 * 'r': `afterglow run` asks for it; 'o': it is from others, as to the whole
			 * group; '.': time passes
			 */
			char from;
		} events[6];
		int n; /* that we send: the command has got those to the group itself */
	} rows[] = {
		{ "to `afterglow run` alone", { { 1, 'r' }, { 25, '.' } }, 1 },
		{ "it is not forwarded before the launcher may have got it, too",
		  { { 1, 'r' }, { 15, '.' } },
		  0 },
		{ "two in turn to `afterglow run` alone",
		  { { 1, 'r' }, { 5, 'r' }, { 50, '.' } },
		  2 },
		{ "to the group, the launcher being first",
		  { { 1, 'o' }, { 3, 'r' }, { 50, '.' } },
		  0 },
		{ "to the group, `afterglow run` being first",
		  { { 1, 'r' }, { 3, 'o' }, { 50, '.' } },
		  0 },
		{ "to the group, and `afterglow run` is slow",
		  { { 1, 'o' }, { 900, 'r' }, { 950, '.' } },
		  0 },
		{ "to the group, then to `afterglow run` alone",
		  { { 1, 'o' }, { 2, 'r' }, { 300, 'r' }, { 350, '.' } },
		  1 },
		{ "twice at once to the group, of which the launcher got one",
		  { { 1, 'o' }, { 2, 'r' }, { 4, 'r' }, { 50, '.' } },
		  0 },
		{ "the same, `afterglow run` being first",
		  { { 1, 'r' }, { 2, 'o' }, { 3, 'r' }, { 50, '.' } },
		  0 },
		{ "twice to the group",
		  { { 1, 'o' }, { 2, 'r' }, { 300, 'o' }, { 301, 'r' }, { 350, '.' } },
		  0 },
		{ "to the group while `afterglow run` is gone", { { 1, 'o' }, { 1010, '.' } }, 0 },
		{ "to the launcher, and `afterglow run` may still have got it",
		  { { 1, 'o' }, { 990, '.' } },
		  0 },
		{ "to the launcher alone", { { 1, 'o' }, { 1010, '.' }, { 1100, '.' } }, 1 },
		{ "long after one to the launcher alone",
		  { { 1, 'o' }, { 1010, '.' }, { 1500, 'r' }, { 1550, '.' } },
		  2 },
	};
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGNO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct forwarding f = { .command = getpid(),
					.run = strstr(rows[i].what, "is gone") ? getpid() :
										 getppid() };

		for (size_t e = 0; e < ARRAY_SIZE(rows[i].events) && rows[i].events[e].from; e++) {
			int64_t now = rows[i].events[e].at_ms * NS_PER_MS;

			if (rows[i].events[e].from != '.')
				forwarding_take(&f, SIGNO, rows[i].events[e].from == 'r', now);
			forwarding_look(&f, now);
		}
		int n = signals_count(&set);
		if (n != rows[i].n)
			fail_msg("%s: %d and not %d", rows[i].what, n, rows[i].n);
	}
}

static void a_command_that_left_the_process_group_gets_what_is_sent_to_it(void **state)
{
	static const char *const orders[] = { "ro", "or", "orr", "ror", "o" };
	sigset_t set;
	int status;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGNO);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct forwarding f = { .run = getppid(), .command = fork() };

		if (f.command == 0) {
			sigdelset(&set, SIGNO);
			sigwaitinfo(&set, NULL);
			sigemptyset(&set);
			sigaddset(&set, SIGNO);
			_exit(signals_count(&set));
		}
		assert_int_equal(setpgid(f.command, f.command), 0);
		for (int64_t at = 0; orders[i][at]; at++)
			forwarding_take(&f, SIGNO, orders[i][at] == 'r', (at + 1) * NS_PER_MS);
		forwarding_look(&f, NS_PER_SEC);
		kill(f.command, SIGUSR1);
		assert_int_equal(waitpid(f.command, &status, 0), f.command);
		if (status != 1 << 8)
			fail_msg("%s: %d and not 1", orders[i], status >> 8);
	}
}

static void the_last_signal_is_one_as_the_others(void **state)
{
	struct forwarding f = { .command = getpid(), .run = getppid() };
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	sigprocmask(SIG_BLOCK, &set, NULL);
	forwarding_take(&f, SIGRTMAX, false, NS_PER_MS);
	forwarding_take(&f, SIGRTMAX, true, 2 * NS_PER_MS);
	forwarding_look(&f, NS_PER_SEC);
	assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){ 0 }), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_gets_each_signal_as_often_as_without_us),
		cmocka_unit_test(a_command_that_left_the_process_group_gets_what_is_sent_to_it),
		cmocka_unit_test(the_last_signal_is_one_as_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
