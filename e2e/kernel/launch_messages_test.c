/* SPDX-License-Identifier: Apache-2.0 */
/* What the launcher tells its sidecar: hello, why the command did not start, how it ended. */
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

/* Hello */

static void hello_brings_the_root_the_termination_log_and_a_pidfd(void **state)
{
	const struct how how = { .termination_log = true };
	struct sidecar s = sidecar_listen();
	struct process p = start(&how, "--name", "ray-worker", "--", probe, "orphans", "0", NULL);
	struct stat root, other;
	struct hello h;

	(void)state;
	sidecar_accept(&s);
	h = receive_hello(&s);
	assert_int_equal(h.version, LAUNCH_PROTOCOL_VERSION);
	assert_string_equal(h.name, "ray-worker");
	assert_string_equal(h.fds, "rtp");
	assert_int_equal(h.launcher_pid, p.pid);
	assert_true(h.command_pid > 0 && h.command_pid != p.pid);
	assert_true(h.start_ns > 0);

	assert_true(fcntl(h.fd[0], F_GETFL) & O_PATH);
	assert_return_code(fstat(h.fd[0], &root), errno);
	assert_return_code(stat("/", &other), errno);
	assert_int_equal(root.st_ino, other.st_ino);
	assert_int_equal(pwrite(h.fd[1], "text", 4, 0), 4);
	assert_return_code(fstatat(h.fd[0], "dev/termination-log", &other, 0), errno);
	assert_int_equal(other.st_size, 4);

	assert_false(readable_within(h.fd[2], 0));
	close_input(&p);
	assert_int_equal(dismiss(&s), 0);
	assert_true(readable_within(h.fd[2], PATIENCE_MS));
	assert_int_equal(finish(&p), 0);
	forget_hello(&h);
	sidecar_release(&s);
}

static void hello_from_pid_1_carries_the_pids_of_its_namespace(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&as_pid1, "--", probe, "sleep", "100", NULL);
	struct hello h;

	(void)state;
	sidecar_accept(&s);
	h = receive_hello(&s);
	assert_int_equal(h.launcher_pid, 1);
	assert_int_equal(h.command_pid, 2);
	assert_string_equal(h.name, "main");
	expect_end(&s, &p, 0);
	forget_hello(&h);
}

static void be_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(115);
}

/*
 * Waits until the traced process stops. Returns false if it has died, and leaves its status to be
 * waited for.
 */
static bool stops(pid_t pid)
{
	siginfo_t info;

	assert_return_code(waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT), errno);
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return false;
	assert_return_code(waitid(P_PID, (id_t)pid, &info, WSTOPPED), errno);
	return true;
}

/*
 * Keeps the traced launcher from its first connect(2) for ms, as a busy machine may. On a very slow
 * one the command kills it before it comes to that.
 */
static void hold_at_connect(pid_t pid, long ms)
{
	struct __ptrace_syscall_info info;

	assert_true(stops(pid));
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, 0) < 0 || !stops(pid) ||
		    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
			return;
	} while (info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_connect);
	pause_ms(ms);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* Returns whether a launcher connected before, and said hello first. */
static bool got_hello(struct sidecar *s)
{
	char text[LAUNCH_MESSAGE_MAX] = "";

	if (!readable_within(s->listener, 0))
		return false;
	sidecar_accept(s);
	if (recv(s->connection, text, sizeof(text), 0) <= 0)
		text[0] = '\0';
	sidecar_hang_up(s);
	return strncmp(text, "hello ", 6) == 0;
}

static void hello_is_sent_before_the_command_can_kill_its_launcher(void **state)
{
	const struct how how = { .prepare = be_traced };
	struct sidecar s = sidecar_listen();
	int n_hellos = 0;

	(void)state;
	/*
	 * Several times, as the command waits for a bounded time only: a busy machine may exceed
	 * it.
	 */
	for (int i = 0; i < 4; i++) {
		struct process p = start(&how, "--", "/bin/sh", "-c", "kill -9 $PPID", NULL);

		hold_at_connect(p.pid, 20);
		assert_int_equal(finish(&p), -SIGKILL);
		n_hellos += got_hello(&s);
	}
	assert_true(n_hellos > 0);
	sidecar_release(&s);
}

/* Connects the launcher with the sidecar before it starts: for --socket-fd 5. */
static void put_connection_at_5(void)
{
	const struct sockaddr_un address = socket_address();
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || dup2(fd, 5) < 0)
		_exit(114);
	if (fd != 5)
		close(fd);
	unlink(socket_path);
}
static const struct how connected_at_5 = { .prepare = put_connection_at_5 };

static void a_connection_given_as_socket_fd_is_used_and_the_command_does_not_get_it(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&connected_at_5, "--socket-fd", "5", "--", probe, "fds", NULL);

	(void)state;
	sidecar_greet(&s);
	assert_int_equal(dismiss(&s), 0);
	assert_string_equal(read_text(p.out, NULL), "0 1 2 ");
	assert_int_equal(finish(&p), 0);
	sidecar_release(&s);
}

/* The end */

static void the_wait_status_reaches_the_sidecar_raw(void **state)
{
	static const struct {
		const char *deed, *arg;
		int status, code;
	} rows[] = {
		/* clang-format off */
		{ "exit", "0", 0, 0 },
		{ "exit", "137", 137 << 8, 137 },
		{ "signal", "9", 9, 137 },
		{ "signal", "15", 15, 143 },
		{ "fault", "segv", 11, 139 },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sidecar s = sidecar_listen();
		struct process p = start(&usual, "--", probe, rows[i].deed, rows[i].arg, NULL);

		sidecar_greet(&s);
		assert_int_equal(dismiss(&s), rows[i].status);
		assert_int_equal(finish(&p), rows[i].code);
		sidecar_release(&s);
	}
}

static void search_the_directory(void)
{
	setenv("PATH", directory, 1);
}

static void why_a_command_was_never_executed_reaches_the_sidecar(void **state)
{
	static const struct {
		const char *command, *message; /* NULL: no message but exit */
		int status;
	} rows[] = {
		{ "/no/such/command", "unstarted 2 0 /no/such/command", 127 << 8 },
		{ "no-such-command", "unstarted 2 0 no-such-command", 127 << 8 },
		{ "/", "unstarted 13 1 /", 126 << 8 },
		{ "", "unstarted 2 0 ", 127 << 8 },
		{ "a b\nc", "unstarted 2 0 a b\nc", 127 << 8 },
		/* The file exists, and the interpreter that it names does not. */
		{ "without-interpreter", "unstarted 2 1 without-interpreter", 127 << 8 },
		{ "not-executable", "unstarted 13 1 not-executable", 126 << 8 },
		{ "ends-with-127", NULL, 127 << 8 },
	};
	const struct how on_path = { .prepare = search_the_directory };

	(void)state;
	put_file("without-interpreter", "#!/no/such/interpreter\n", 0755);
	put_file("not-executable", "#!/bin/sh\n", 0644);
	put_file("ends-with-127", "#!/bin/sh\nexec /no/such/command\n", 0755);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sidecar s = sidecar_listen();
		struct process p = start(&on_path, "--", rows[i].command, NULL);

		sidecar_greet(&s);
		if (rows[i].message)
			assert_string_equal(receive_text(&s), rows[i].message);
		expect_end(&s, &p, rows[i].status);
	}
	remove_file("without-interpreter");
	remove_file("not-executable");
	remove_file("ends-with-127");
}

static void a_long_command_that_cannot_be_executed_is_cut(void **state)
{
	struct sidecar s = sidecar_listen();
	char name[LAUNCH_COMMAND_MAX * 2];
	struct process p;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p = start(&usual, "--", name, NULL);
	sidecar_greet(&s);
	assert_int_equal(strlen(receive_text(&s)), strlen("unstarted 36 0 ") + LAUNCH_COMMAND_MAX);
	expect_end(&s, &p, 126 << 8);
}

/* Has the launcher answer until there is no more room for its answers. */
static void fill_with_answers(const struct sidecar *s)
{
	int64_t until = now_ms() + PATIENCE_MS;
	int unread;

	for (int i = 0; i < 2000; i++)
		order(s, "run 1");
	do {
		pause_ms(1);
		assert_return_code(ioctl(s->connection, SIOCOUTQ, &unread), errno);
	} while (unread > 0 && now_ms() < until);
	assert_int_equal(unread, 0);
}

static void expect_exit_after_answers(const struct sidecar *s, int status)
{
	static const char answer[] = "refused ", exit_is[] = "exit ";
	const char *text;

	do
		text = receive_text(s);
	while (strncmp(text, answer, sizeof(answer) - 1) == 0);
	if (strncmp(text, exit_is, sizeof(exit_is) - 1) != 0)
		fail_msg("\"%s\" is no exit", text);
	assert_int_equal(strtol(text + sizeof(exit_is) - 1, NULL, 10), status);
}

static void a_sidecar_that_reads_nothing_is_told_of_the_end_all_the_same(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&usual, "--wait-sidecar", "1", "--", "/bin/sh", "-c",
				 "read line; exit 7", NULL);

	(void)state;
	sidecar_greet(&s);
	fill_with_answers(&s);
	pause_ms(1100); /* so that the time of --wait-sidecar is over */
	close_input(&p);
	assert_int_equal(finish(&p), 7);
	expect_exit_after_answers(&s, 7 << 8);
	sidecar_release(&s);
}

static void a_sidecar_that_made_the_connection_and_reads_nothing_is_told_of_the_end(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&connected_at_5, "--socket-fd", "5", "--", "/bin/sh", "-c",
				 "read line; exit 7", NULL);

	(void)state;
	sidecar_greet(&s);
	fill_with_answers(&s);
	close_input(&p);
	assert_int_equal(finish(&p), 7);
	expect_exit_after_answers(&s, 7 << 8);
	sidecar_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_brings_the_root_the_termination_log_and_a_pidfd),
		cmocka_unit_test(hello_from_pid_1_carries_the_pids_of_its_namespace),
		cmocka_unit_test(hello_is_sent_before_the_command_can_kill_its_launcher),
		cmocka_unit_test(
			a_connection_given_as_socket_fd_is_used_and_the_command_does_not_get_it),
		cmocka_unit_test(the_wait_status_reaches_the_sidecar_raw),
		cmocka_unit_test(why_a_command_was_never_executed_reaches_the_sidecar),
		cmocka_unit_test(a_long_command_that_cannot_be_executed_is_cut),
		cmocka_unit_test(a_sidecar_that_reads_nothing_is_told_of_the_end_all_the_same),
		cmocka_unit_test(
			a_sidecar_that_made_the_connection_and_reads_nothing_is_told_of_the_end),
	};

	return RUN_LAUNCH_TESTS(tests);
}
