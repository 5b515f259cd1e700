/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that the launcher gets: it forwards them, reports those that ask it to stop, and obeys. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

static void expect_all_signals_forwarded(const struct how *how)
{
	struct process p = start(how, "--", probe, "record", "64", NULL);

	read_text(p.out, "ready\n");
	/* One after the other: a pending signal that stops the process would take SIGCONT away. */
	for (int signo = 1; signo <= 64; signo++) {
		char line[8];

		if (signo == SIGKILL || signo == SIGSTOP || signo == SIGCHLD)
			continue;
		if (launcher_is_dynamic && (signo == 32 || signo == 33))
			continue;
		snprintf(line, sizeof(line), "%d\n", signo);
		assert_return_code(syscall(SYS_kill, p.pid, signo), errno);
		assert_string_equal(read_text(p.out, "\n"), line);
	}
	assert_int_equal(finish(&p), 0);
}

static void every_signal_that_can_be_caught_is_forwarded(void **state)
{
	(void)state;
	expect_all_signals_forwarded(&usual);
}

static void every_signal_that_can_be_caught_is_forwarded_by_pid_1(void **state)
{
	(void)state;
	expect_all_signals_forwarded(&as_pid1);
}

/* Returns the sender's PID in the next message, which has to be "asked". */
static int receive_asked(const struct sidecar *s, int signo)
{
	const char *text = receive_text(s);
	int reported = 0, sender = -1, end = 0;
	long long at_ns = 0;

	sscanf(text, "asked %d %d %lld%n", &reported, &sender, &at_ns, &end);
	assert_int_equal(end, strlen(text));
	assert_int_equal(reported, signo);
	assert_true(at_ns > 0);
	return sender;
}

static void a_sidecar_hears_that_the_container_was_asked_to_stop_from_outside(void **state)
{
	static const char script[] = "trap '' TERM INT; kill $PPID; echo ready; read line; exit 3";
	struct sidecar s = sidecar_listen();
	struct process p = start(&as_pid1, "--", "sh", "-c", script, NULL);

	(void)state;
	sidecar_greet(&s);
	read_text(p.out, "ready\n");
	/* The shell is the first child of PID 1. */
	assert_int_equal(receive_asked(&s, SIGTERM), 2);
	kill(p.pid, SIGINT);
	assert_int_equal(receive_asked(&s, SIGINT), 0);
	/* A sidecar that connects later hears of it, too. */
	sidecar_hang_up(&s);
	sidecar_greet(&s);
	assert_int_equal(receive_asked(&s, SIGINT), 0);
	close_input(&p);
	expect_end(&s, &p, 3 << 8);
}

static void sigterm_to_pid_1_ends_the_command_with_143(void **state)
{
	struct process p = start_waiting(&as_pid1);

	(void)state;
	read_text(p.out, "ready\n");
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 143);
}

static bool has_blocked_signals(const struct process *p)
{
	const char *all_blocked =
		launcher_is_dynamic ? "SigBlk:\tfffffffe7ffbfeff\n" : "SigBlk:\tfffffffffffbfeff\n";
	char status[4096];

	return read_proc(p->pid, "status", status, sizeof(status)) && strstr(status, all_blocked);
}

/* Until a PID 1 has blocked signals, the kernel drops them: the launcher can do nothing about it. */
static void wait_for_blocked_signals(const struct process *p)
{
	int64_t until = now_ms() + PATIENCE_MS;

	while (!has_blocked_signals(p) && now_ms() < until)
		sched_yield();
}

static void sigterm_at_any_moment_after_signals_were_blocked_ends_the_command(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		struct process p = start(&as_pid1, "--", probe, "sleep", "15000", NULL);

		wait_for_blocked_signals(&p);
		usleep((useconds_t)(i * 10));
		kill(p.pid, SIGTERM);
		assert_int_equal(finish(&p), 143);
	}
}

static void sigterm_ends_a_wait_for_a_port(void **state)
{
	struct process p =
		start(&as_pid1, "--wait-tcp", "127.0.0.1:1", "--", probe, "exit", "0", NULL);
	int64_t begin;

	(void)state;
	wait_for_blocked_signals(&p);
	pause_ms(300); /* somewhere in its wait */
	begin = now_ms();
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 143);
	assert_true(now_ms() - begin < 30000);
}

/* A shell's trap '' or a careless parent leaves signals ignored or blocked at the start. */
static void ignore_sigchld(void)
{
	signal(SIGCHLD, SIG_IGN);
}

static void ignore_and_block_much(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_IGN);
}

static void block_usr2_and_ignore_pipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void ignored_and_blocked_signals_at_the_start_do_not_change_the_result(void **state)
{
	static void (*const rows[])(void) = { ignore_sigchld, ignore_and_block_much };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct how how = { .prepare = rows[i] };
		const struct how pid1 = { .prepare = rows[i], .pid1 = true };
		struct process p = start(&how, "--", probe, "exit", "3", NULL);

		assert_int_equal(finish(&p), 3);
		p = start(&pid1, "--", probe, "signal", "9", NULL);
		assert_int_equal(finish(&p), 137);
	}
}

static void the_command_inherits_the_signal_mask_and_ignored_signals(void **state)
{
	struct how how = { .prepare = block_usr2_and_ignore_pipe };
	char with[OUTPUT_MAX];
	struct process p = start(&how, "--", probe, "status", NULL);

	(void)state;
	snprintf(with, sizeof(with), "%s", read_text(p.out, NULL));
	assert_int_equal(finish(&p), 0);
	how.bare = true;
	p = start(&how, "--", probe, "status", NULL);
	assert_string_equal(read_text(p.out, NULL), with);
	assert_int_equal(finish(&p), 0);
	assert_non_null(strstr(with, "SigBlk:\t0000000000000800"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded),
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded_by_pid_1),
		cmocka_unit_test(a_sidecar_hears_that_the_container_was_asked_to_stop_from_outside),
		cmocka_unit_test(sigterm_to_pid_1_ends_the_command_with_143),
		cmocka_unit_test(sigterm_at_any_moment_after_signals_were_blocked_ends_the_command),
		cmocka_unit_test(sigterm_ends_a_wait_for_a_port),
		cmocka_unit_test(ignored_and_blocked_signals_at_the_start_do_not_change_the_result),
		cmocka_unit_test(the_command_inherits_the_signal_mask_and_ignored_signals),
	};

	return RUN_LAUNCH_TESTS(tests);
}
