/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/stop_signal.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct signalfd_siginfo signal_of(int signo, int code, pid_t sender)
{
	return (struct signalfd_siginfo){ .ssi_signo = (uint32_t)signo,
					  .ssi_code = code,
					  .ssi_pid = (uint32_t)sender };
}

static void only_signals_that_ask_to_stop_are_noted(void **state)
{
	static const struct {
		int signo, code;
		bool noted;
	} rows[] = {
		{ SIGTERM, SI_USER, true },
		{ SIGINT, SI_USER, true },
		{ SIGQUIT, SI_USER, true },
		{ SIGHUP, SI_USER, false },
		{ SIGUSR1, SI_USER, false },
		{ SIGINT, SI_KERNEL, false }, /* Ctrl-C at the terminal */
		{ SIGTERM, SI_QUEUE, false }, /* the sender itself writes this PID */
		{ SIGTERM, SI_TKILL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct signalfd_siginfo info = signal_of(rows[i].signo, rows[i].code, 0);
		struct stop_signal s = { 0 };

		assert_int_equal(stop_signal_note(&s, &info, 5), rows[i].noted);
		assert_int_equal(s.signo, rows[i].noted ? rows[i].signo : 0);
	}
}

static void the_first_counts_unless_a_later_one_comes_from_outside(void **state)
{
	struct signalfd_siginfo inside = signal_of(SIGTERM, SI_USER, 7),
				outside = signal_of(SIGINT, SI_USER, 0);
	struct stop_signal s = { 0 };

	(void)state;
	assert_true(stop_signal_note(&s, &inside, 5));
	assert_false(stop_signal_note(&s, &inside, 6));
	assert_int_equal(s.sender, 7);
	assert_int_equal(s.at_ns, 5);
	assert_true(stop_signal_note(&s, &outside, 7));
	assert_int_equal(s.signo, SIGINT);
	assert_int_equal(s.sender, 0);
	assert_int_equal(s.at_ns, 7);
	assert_false(stop_signal_note(&s, &outside, 8));
	assert_false(stop_signal_note(&s, &inside, 9));
	assert_int_equal(s.at_ns, 7);
}

static void the_kernel_names_a_sender_of_our_own_namespace(void **state)
{
	struct signalfd_siginfo info;
	struct stop_signal s = { 0 };
	sigset_t set;
	pid_t child;
	int fd;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	child = fork();
	if (child == 0)
		_exit(kill(getppid(), SIGTERM) < 0);
	assert_int_equal(read(fd, &info, sizeof(info)), sizeof(info));
	assert_true(stop_signal_note(&s, &info, 5));
	assert_int_equal(s.sender, child);
	waitpid(child, NULL, 0);
	close(fd);
}

static void the_sidecar_hears_of_it_once_it_is_there(void **state)
{
	struct stop_signal none = { 0 }, s = { SIGTERM, 0, 1234 };
	char text[80] = "";
	int pair[2];

	(void)state;
	stop_signal_send(&s, -1);
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), errno);
	stop_signal_send(&none, pair[0]);
	stop_signal_send(&s, pair[0]);
	assert_int_equal(recv(pair[1], text, sizeof(text) - 1, MSG_DONTWAIT),
			 strlen("asked 15 0 1234"));
	assert_string_equal(text, "asked 15 0 1234");
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_signals_that_ask_to_stop_are_noted),
		cmocka_unit_test(the_first_counts_unless_a_later_one_comes_from_outside),
		cmocka_unit_test(the_kernel_names_a_sender_of_our_own_namespace),
		cmocka_unit_test(the_sidecar_hears_of_it_once_it_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
