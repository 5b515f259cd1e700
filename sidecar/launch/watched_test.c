/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sidecar/launch/connection.h"

static unsigned long long start_of(pid_t pid)
{
	char path[40], text[1024];
	const char *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10);
}

/* Starts a child that waits to be killed, or that exits with a code read from *ret_pipe. */
static pid_t start_child(int *ret_pipe)
{
	int fds[2];
	unsigned char code;
	pid_t pid;

	assert_return_code(pipe(fds), errno);
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		_exit(read(fds[0], &code, 1) == 1 ? code : 99);
	}
	close(fds[0]);
	*ret_pipe = fds[1];
	return pid;
}

static int order(struct watched *w, pid_t pid, unsigned long long start)
{
	char text[64];
	pid_t parsed;

	snprintf(text, sizeof(text), "%d %llu", (int)pid, start);
	return watched_add(w, text, &parsed);
}

/* Waits for the end of a process, and returns the message to the sidecar. */
static const char *wait_and_tell(struct watched *w, const int *sockets)
{
	static char text[LAUNCH_MESSAGE_MAX + 1];
	struct pollfd fds[LAUNCH_WATCHED_MAX];
	int fd;

	watched_poll(w, fds);
	assert_int_equal(poll(fds, LAUNCH_WATCHED_MAX, 60000), 1);
	watched_tell(w, fds, sockets[0]);
	assert_true(connection_receive(sockets[1], text, &fd) > 0);
	return text;
}

static void open_sockets(int sockets[2])
{
	assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), errno);
}

static void close_all(int *sockets, int pipe_fd)
{
	close(sockets[0]);
	close(sockets[1]);
	close(pipe_fd);
}

static void expect_ended(const char *text, pid_t pid, const char *status)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "ended %d %s ", (int)pid, status);
	assert_memory_equal(text, expected, strlen(expected));
	assert_true(strtoll(text + strlen(expected), NULL, 10) > 0);
}

static void a_zombie_tells_how_it_ended(void **state)
{
	static const struct {
		int signo; /* 0: it exits with `code` */
		unsigned char code;
		const char *status;
	} rows[] = { { SIGKILL, 0, "9" },
		     { SIGTERM, 0, "15" },
		     { 0, 0, "0" },
		     { 0, 1, "256" },
		     { 0, 255, "65280" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct watched w = { 0 };
		int sockets[2], pipe_fd;
		pid_t pid = start_child(&pipe_fd);

		open_sockets(sockets);
		assert_int_equal(order(&w, pid, start_of(pid)), 0);
		if (rows[i].signo)
			kill(pid, rows[i].signo);
		else
			assert_int_equal(write(pipe_fd, &rows[i].code, 1), 1);
		expect_ended(wait_and_tell(&w, sockets), pid, rows[i].status);
		assert_int_equal(w.list[0].pid, 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		close_all(sockets, pipe_fd);
	}
}

static void the_status_that_we_reaped_is_reported(void **state)
{
	struct watched w = { 0 };
	int sockets[2], pipe_fd, status;
	pid_t pid = start_child(&pipe_fd);

	(void)state;
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	watched_reaped(&w, pid, 3 << 8);
	expect_ended(wait_and_tell(&w, sockets), pid, "768");
	close_all(sockets, pipe_fd);
}

static void a_process_that_its_parent_has_reaped_is_reported_too(void **state)
{
	struct watched w = { 0 };
	int sockets[2], pipe_fd, status;
	pid_t pid = start_child(&pipe_fd);
	const char *text;

	(void)state;
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	text = wait_and_tell(&w, sockets);
	/* Only Linux 6.15 and newer still know its status then. */
	expect_ended(text, pid, strstr(text, " - ") ? "-" : "9");
	close_all(sockets, pipe_fd);
}

/*
 * The launcher may see both ends at once: only what a process has reaped ended before it for sure.
 */
static void what_a_parent_has_reaped_is_reported_before_the_parent(void **state)
{
	struct watched w = { 0 };
	char text[LAUNCH_MESSAGE_MAX + 1];
	int sockets[2], pipe_fd, fd;
	pid_t pid = start_child(&pipe_fd);
	struct rlimit limit;
	siginfo_t info;

	(void)state;
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	watched_parent_ended(&w, getpid(), sockets[0]); /* it lives */
	kill(pid, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), errno);
	watched_parent_ended(&w, getpid(), sockets[0]); /* a zombie */
	/* Nor can its state be read while descriptors have run out. */
	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 1, limit.rlim_max }), errno);
	watched_parent_ended(&w, getpid(), sockets[0]);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	watched_parent_ended(&w, getpid() + 1, sockets[0]);
	assert_int_equal(connection_receive(sockets[1], text, &fd), -1);
	watched_parent_ended(&w, getpid(), sockets[0]);
	assert_true(connection_receive(sockets[1], text, &fd) > 0);
	expect_ended(text, pid, strstr(text, " - ") ? "-" : "9");
	assert_int_equal(w.list[0].pid, 0);
	close_all(sockets, pipe_fd);
}

static void the_end_of_a_container_tells_of_all_before_it(void **state)
{
	struct watched w = { 0 };
	char text[LAUNCH_MESSAGE_MAX + 1];
	int sockets[2], pipe_fd, fd;
	pid_t pid = start_child(&pipe_fd);
	siginfo_t info;

	(void)state;
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	watched_flush(&w, sockets[0]);
	assert_int_equal(connection_receive(sockets[1], text, &fd), -1);
	kill(pid, SIGKILL);
	assert_return_code(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), errno);
	watched_flush(&w, -1); /* no sidecar is connected, so the end is kept */
	assert_int_equal(w.list[0].pid, pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	watched_again(&w, sockets[0]);
	assert_true(connection_receive(sockets[1], text, &fd) > 0);
	expect_ended(text, pid, "9");
	assert_int_equal(w.list[0].pid, 0);
	close_all(sockets, pipe_fd);
}

static void another_process_of_that_pid_is_not_watched(void **state)
{
	struct watched w = { 0 };
	int pipe_fd;
	pid_t pid = start_child(&pipe_fd);

	(void)state;
	assert_int_equal(order(&w, pid, start_of(pid) + 1), -ESRCH);
	assert_int_equal(w.list[0].pid, 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(order(&w, pid, 1), -ESRCH);
	close(pipe_fd);
}

static void hostile_orders_are_refused(void **state)
{
	static const char *const orders[] = { "",
					      " ",
					      "1",
					      "1 ",
					      "-1 5",
					      "0 5",
					      "99999999999 5",
					      "1 -5",
					      "1 5 6",
					      "a 5",
					      "1  5",
					      "1 99999999999999999999999999" };
	struct watched w = { 0 };
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		assert_int_equal(watched_add(&w, orders[i], &pid), -EINVAL);
	for (size_t i = 0; i < LAUNCH_WATCHED_MAX; i++)
		assert_int_equal(w.list[i].pid, 0);
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void a_flood_of_orders_takes_no_more_than_the_table(void **state)
{
	struct watched w = { 0 };
	pid_t pids[LAUNCH_WATCHED_MAX + 3];
	int pipes[LAUNCH_WATCHED_MAX + 3];
	size_t before;

	(void)state;
	for (size_t i = 0; i < LAUNCH_WATCHED_MAX + 3; i++)
		pids[i] = start_child(&pipes[i]);
	before = open_descriptors();
	for (unsigned int n = 0; n < 2000; n++) {
		size_t i = n % (LAUNCH_WATCHED_MAX + 3);

		assert_int_equal(order(&w, pids[i], start_of(pids[i])),
				 i < LAUNCH_WATCHED_MAX ? 0 : -EBUSY);
	}
	assert_int_equal(open_descriptors(), before + LAUNCH_WATCHED_MAX);
	for (size_t i = 0; i < LAUNCH_WATCHED_MAX + 3; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
		close(pipes[i]);
	}
	watched_flush(&w, -1);
	assert_int_equal(open_descriptors(), before - (LAUNCH_WATCHED_MAX + 3));
}

static void watching_leaves_descriptors_for_the_rest(void **state)
{
	struct rlimit before, low;
	struct watched w = { 0 };
	int pipe_fd;
	pid_t pid = start_child(&pipe_fd);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = (rlim_t)pipe_fd + 8;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(order(&w, pid, start_of(pid)), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	watched_flush(&w, -1);
	close(pipe_fd);
}

/* For such a process the kernel shows exit code 0, however it ended. */
static void kill_one_of_another_group(void)
{
	struct watched w = { 0 };
	int sockets[2], pipe_fd, become[2];
	pid_t pid;

	assert_return_code(pipe(become), errno);
	pid = fork();
	if (pid == 0) {
		if (setresgid(1, 1, 1) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		close(become[1]);
		pause();
		_exit(0);
	}
	close(become[1]);
	assert_int_equal(read(become[0], &pipe_fd, 1), 0);
	assert_return_code(setresgid(65534, 65534, 65534), errno);
	assert_return_code(setresuid(65534, 65534, 65534), errno);
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	kill(pid, SIGKILL);
	expect_ended(wait_and_tell(&w, sockets), pid, "-");
}

static void an_end_without_a_sidecar_is_kept_for_the_next_one(void **state)
{
	struct pollfd fds[LAUNCH_WATCHED_MAX];
	struct watched w = { 0 };
	char text[LAUNCH_MESSAGE_MAX + 1];
	int sockets[2], pipe_fd, fd;
	pid_t pid = start_child(&pipe_fd);

	(void)state;
	open_sockets(sockets);
	assert_int_equal(order(&w, pid, start_of(pid)), 0);
	kill(pid, SIGTERM);
	watched_poll(&w, fds);
	assert_int_equal(poll(fds, LAUNCH_WATCHED_MAX, 60000), 1);
	watched_tell(&w, fds, -1);
	/* Its parent reaps it, and the PID is free for others. */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	watched_poll(&w, fds);
	assert_int_equal(poll(fds, LAUNCH_WATCHED_MAX, 0), 0);
	watched_again(&w, -1);
	watched_again(&w, sockets[0]);
	assert_true(connection_receive(sockets[1], text, &fd) > 0);
	expect_ended(text, pid, "15");
	assert_int_equal(w.list[0].pid, 0);
	watched_again(&w, sockets[0]);
	assert_int_equal(connection_receive(sockets[1], text, &fd), -1);
	close_all(sockets, pipe_fd);
}

static void a_status_that_the_kernel_hides_is_not_reported(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		kill_one_of_another_group();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zombie_tells_how_it_ended),
		cmocka_unit_test(the_status_that_we_reaped_is_reported),
		cmocka_unit_test(a_process_that_its_parent_has_reaped_is_reported_too),
		cmocka_unit_test(what_a_parent_has_reaped_is_reported_before_the_parent),
		cmocka_unit_test(the_end_of_a_container_tells_of_all_before_it),
		cmocka_unit_test(another_process_of_that_pid_is_not_watched),
		cmocka_unit_test(hostile_orders_are_refused),
		cmocka_unit_test(watching_leaves_descriptors_for_the_rest),
		cmocka_unit_test(a_flood_of_orders_takes_no_more_than_the_table),
		cmocka_unit_test(an_end_without_a_sidecar_is_kept_for_the_next_one),
		cmocka_unit_test(a_status_that_the_kernel_hides_is_not_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
