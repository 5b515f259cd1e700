/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of the socket: a sidecar, a hostile process of the container, nobody. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

static void become_somebody(void)
{
	if (setgid(1234) < 0 || setuid(1234) < 0)
		_exit(119);
}

/*
 * The peer of a connection is who called listen(2): here a child that is neither root nor the
 * launcher's user.
 */
static struct sidecar listen_as_another_user(void)
{
	struct sidecar s = sidecar_listen();
	int status;
	pid_t pid;

	chmod(directory, 0777);
	chmod(socket_path, 0777);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(setuid(4321) < 0 || listen(s.listener, 4) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return s;
}

static void another_user_of_the_same_container_is_not_taken_for_the_sidecar(void **state)
{
	const struct how how = { .prepare = become_somebody };
	struct sidecar s = listen_as_another_user();
	struct process p = start_waiting(&how);
	char text[LAUNCH_MESSAGE_MAX];

	(void)state;
	/* It gets no hello, and so no descriptor of the container; its orders are not read. */
	for (int i = 0; i < 2; i++) {
		sidecar_accept(&s);
		send(s.connection, "kill", 4, MSG_NOSIGNAL);
		assert_true(recv(s.connection, text, sizeof(text), 0) <= 0);
		sidecar_hang_up(&s);
	}
	close_input(&p);
	assert_non_null(strstr(read_text(p.err, NULL), "without the sidecar"));
	assert_int_equal(finish(&p), 0);
	sidecar_release(&s);
	chmod(directory, 0700);
}

/*
 * As PID 1 of the namespace: leaves a child that listens in the sidecar's place, and prints the
 * length of what the launcher sends it first.
 */
static void let_a_child_listen(void)
{
	const struct sockaddr_un address = socket_address();
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int probing = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char text[LAUNCH_MESSAGE_MAX];

	unlink(socket_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		_exit(118);
	if (fork() == 0) {
		ssize_t len;

		listen(fd, 4);
		close(accept(fd, NULL, NULL)); /* the connection below */
		len = recv(accept(fd, NULL, NULL), text, sizeof(text), 0);
		dprintf(STDOUT_FILENO, "%zd\n", len);
		_exit(0);
	}
	while (connect(probing, (const struct sockaddr *)&address, sizeof(address)) < 0)
		pause_ms(1);
}

static void a_process_of_the_containers_own_user_is_not_taken_for_the_sidecar(void **state)
{
	const struct how how = { .pid1 = true, .prepare = let_a_child_listen };
	struct process p = start(&how, "--", probe, "cat", NULL);

	(void)state;
	assert_string_equal(read_text(p.out, "\n"), "0\n");
	assert_non_null(strstr(read_text(p.err, "\n"), "without the sidecar"));
	close_input(&p);
	assert_int_equal(finish(&p), 0);
	unlink(socket_path);
}

/* The operator mounts the directory of the socket read-only. */
static void become_somebody_with_a_read_only_directory(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(directory, directory, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, directory, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		_exit(117);
	become_somebody();
}

static void a_read_only_directory_proves_that_the_listener_is_the_sidecar(void **state)
{
	const struct how how = { .prepare = become_somebody_with_a_read_only_directory };
	struct sidecar s = listen_as_another_user();
	struct process p = start_waiting(&how);

	(void)state;
	sidecar_greet(&s);
	close(order_with_pipe(&s, "run 5 10 0 true"));
	assert_memory_equal(receive_text(&s), "ran 5 ", 6);
	assert_string_equal(receive_text(&s), "finished 5 0 0");
	end_waiting(&s, &p);
	chmod(directory, 0700);
}

static void a_socket_path_that_is_no_socket_is_as_good_as_none(void **state)
{
	char long_path[300];
	const char *rows[] = { "/", "/dev/null", "", long_path };

	(void)state;
	memset(long_path, 'p', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p =
			start(&usual, "--socket", rows[i], "--", probe, "exit", "11", NULL);

		assert_int_equal(finish(&p), 11);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_user_of_the_same_container_is_not_taken_for_the_sidecar),
		cmocka_unit_test(a_process_of_the_containers_own_user_is_not_taken_for_the_sidecar),
		cmocka_unit_test(a_read_only_directory_proves_that_the_listener_is_the_sidecar),
		cmocka_unit_test(a_socket_path_that_is_no_socket_is_as_good_as_none),
	};

	return RUN_LAUNCH_TESTS(tests);
}
