/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that the launcher gets: it forwards them, reports those that ask it to stop, and obeys.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
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

#define SHELL(script) { "/bin/sh", "-c", (script), NULL }
#define TAKES(way) { "PROBE", "take", (way), NULL }
#define AS_USER(...) { "PROBE", "user", __VA_ARGS__, NULL }
#define LIVES_ON_MS 150

/* What stands in the place of process 1, and whether it notices SIGTERM there. */
static const struct row {
	const char *command[7];
	bool takes;
} rows[] = {
	{ SHELL("sh -c 'echo ready; sleep 0.1'; read line; exit 3"), false },
	{ SHELL("trap 'exit 7' TERM; echo ready; read line; exit 3"), true },
	{ SHELL("trap '' TERM; echo ready; read line; exit 3"), false },
	{ SHELL("trap 'exit 7' TERM; trap - TERM; echo ready; read line; exit 3"), false },
	{ SHELL("exec \"$PROBE\" take handler"), true },
	{ SHELL("trap 'exit 7' TERM; exec \"$PROBE\" take none"), false },
	/* the shell drops it, its child has none */
	{ SHELL("\"$PROBE\" take handler; exit 3"), false },
	{ TAKES("none"), false },
	{ TAKES("handler"), true },
	{ TAKES("late"), false },
	{ TAKES("sigwait"), true }, /* as tini does */
	{ TAKES("signalfd"), true }, /* as catatonit does */
	{ TAKES("others"), false },
	{ TAKES("moments"), false },
	{ TAKES("thread"), true },
	{ AS_USER("/bin/sh", "-c", "echo ready; read line; exit 3"), false }, /* as gosu does */
	{ AS_USER("/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; read line; exit 3"), true },
	{ AS_USER("PROBE", "take", "sigwait"), true },
};

/*
 * In a container, root may not trace the processes of other users. If only the needed capabilities
 * were added, it may not even signal them.
 */
static void become_roots_container(void)
{
	prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE);
	prctl(PR_CAPBSET_DROP, CAP_KILL);
}

static struct process start_row(const struct row *row, bool bare)
{
	static const struct how how = { .pid1 = true, .prepare = become_roots_container };
	const char *argv[ARRAY_SIZE(row->command) + 4] = { launcher, "--socket", socket_path,
							   "--" };
	size_t n = 4;

	for (const char *const *word = row->command; *word; word++)
		argv[n++] = strcmp(*word, "PROBE") == 0 ? probe : *word;
	setenv("PROBE", probe, 1);
	return start_argv(&how, bare ? argv + 4 : argv);
}

/* Returns whether the process, which is ready, takes the signal as the row says. */
static bool behaves(struct process *p, const struct row *row, int signo)
{
	read_text(p->out, "ready\n");
	kill(p->pid, signo);
	if (row->takes)
		return finish(p) == TAKEN;
	if (ends_within(p, LIVES_ON_MS))
		return finish(p) == TIMED_OUT;
	close_input(p);
	return finish(p) == NOT_TAKEN;
}

/* The bare command shows that the rows are the kernel's own, and not ours. */
static void a_command_gets_sigterm_if_it_would_as_process_1(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int bare = 0; bare < 2; bare++) {
			struct process p = start_row(&rows[i], bare);

			if (!behaves(&p, &rows[i], SIGTERM))
				fail_msg("%s %s %s, %s", rows[i].command[0], rows[i].command[1],
					 rows[i].command[2], bare ? "bare" : "with the launcher");
		}
}

static void a_command_without_handlers_is_left_alone_by_every_signal(void **state)
{
	static const struct row row = { TAKES("none"), false };
	struct process p = start_row(&row, false);

	(void)state;
	read_text(p.out, "ready\n");
	for (int signo = 1; signo <= 64; signo++)
		if (signo != SIGKILL && signo != SIGSTOP &&
		    !(launcher_is_dynamic && (signo == 32 || signo == 33)))
			syscall(SYS_kill, p.pid, signo);
	assert_false(ends_within(&p, LIVES_ON_MS));
	close_input(&p);
	assert_int_equal(finish(&p), NOT_TAKEN);
}

/* A process inside has no more power over process 1 than without us. */
static void a_signal_that_a_child_sends_to_process_1_is_dropped_alike(void **state)
{
	static const struct row
		dropped = { SHELL("sh -c 'kill -TERM 1'; echo ready; read line; exit 3"), false },
		caught = { SHELL("trap 'exit 7' TERM; sh -c 'kill -TERM 1'; sleep 60 & wait"),
			   true };
	struct process p;

	(void)state;
	for (int bare = 0; bare < 2; bare++) {
		p = start_row(&dropped, bare);
		assert_true(behaves(&p, &dropped, SIGCONT));
		p = start_row(&caught, bare);
		assert_int_equal(finish(&p), TAKEN);
	}
}

static void the_command_leads_a_session_if_process_1_would(void **state)
{
	static const struct row row = { { "PROBE", "session", NULL }, false };

	(void)state;
	for (int bare = 0; bare < 2; bare++) {
		struct process p = start_row(&row, bare);

		assert_string_equal(read_text(p.out, NULL), "leader of its session and group\n");
		assert_int_equal(finish(&p), 0);
	}
}

static void sigterm_ends_the_command_of_a_launcher_that_is_not_process_1(void **state)
{
	struct process p = start_waiting(&usual);

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

/*
 * Until it has blocked signals, the launcher dies of them as any process, or the kernel drops them
 * for a PID 1.
 */
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
		struct process p = start(&usual, "--", probe, "sleep", "15000", NULL);

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
	static void (*const prepares[])(void) = { ignore_sigchld, ignore_and_block_much };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(prepares); i++) {
		const struct how how = { .prepare = prepares[i] };
		const struct how pid1 = { .prepare = prepares[i], .pid1 = true };
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

static char terminal_path[64];

/* As a container with `tty: true` has it: its first process leads the terminal's session. */
static void take_terminal(void)
{
	setsid();
	dup2(open(terminal_path, O_RDWR), STDIN_FILENO);
}

static void the_command_gets_the_hangup_of_its_terminal(void **state)
{
	static const char script[] = "trap 'exit 5' HUP; echo ready; while :; do sleep 0.1; done";
	(void)state;

	for (int bare = 0; bare < 2; bare++) {
		const struct how how = { .bare = bare, .prepare = take_terminal };
		int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		assert_return_code(unlockpt(terminal), errno);
		assert_int_equal(ptsname_r(terminal, terminal_path, sizeof(terminal_path)), 0);
		struct process p = start(&how, "--", "/bin/sh", "-c", script, NULL);
		read_text(p.out, "ready\n");
		close(terminal);
		assert_int_equal(finish(&p), 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded),
		cmocka_unit_test(every_signal_that_can_be_caught_is_forwarded_by_pid_1),
		cmocka_unit_test(a_sidecar_hears_that_the_container_was_asked_to_stop_from_outside),
		cmocka_unit_test(a_command_gets_sigterm_if_it_would_as_process_1),
		cmocka_unit_test(a_command_without_handlers_is_left_alone_by_every_signal),
		cmocka_unit_test(a_signal_that_a_child_sends_to_process_1_is_dropped_alike),
		cmocka_unit_test(the_command_leads_a_session_if_process_1_would),
		cmocka_unit_test(sigterm_ends_the_command_of_a_launcher_that_is_not_process_1),
		cmocka_unit_test(sigterm_at_any_moment_after_signals_were_blocked_ends_the_command),
		cmocka_unit_test(sigterm_ends_a_wait_for_a_port),
		cmocka_unit_test(ignored_and_blocked_signals_at_the_start_do_not_change_the_result),
		cmocka_unit_test(the_command_inherits_the_signal_mask_and_ignored_signals),
		cmocka_unit_test(the_command_gets_the_hangup_of_its_terminal),
	};

	return RUN_LAUNCH_TESTS(tests);
}
