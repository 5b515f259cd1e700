/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the connections of the node agent. They need root: a process in a PID namespace of its
 * own listens, so that this process looks like the node.
 */
#include "sidecar/node/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"

#define HANGS 44
#define FULL 45

static char directory[64];
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static pid_t listener;
static int brought[2]; /* the listener writes what it gets here */

static pid_t offered;

static int on_offer(const struct node_message *offer, void *arg, struct err *err)
{
	(void)arg;
	offered = offer->pid;
	if (offered == HANGS || offered == FULL)
		return 0;
	return offer->pid == 42 ? 0 : err_set(err, EBUSY, "PID %d", (int)offer->pid);
}

/* For the process HANGS the disk does not answer, and for FULL it has no room. */
static int on_open(uint64_t *ret_room, void *arg, struct err *err)
{
	(void)arg;
	while (offered == HANGS)
		pause();
	if (offered == FULL)
		return err_set(err, ENOSPC, "/spool");
	*ret_room = 4711;
	return memfd_create("core", MFD_CLOEXEC);
}

/*
 * Any descriptor will do. It shows that one came, for which process, and with a file to write to.
 */
static void on_core(const struct node_message *offer, int fd, int file, uint64_t room, void *arg)
{
	(void)arg;
	if (room == 4711 && write(file, "x", 1) == 1)
		fd_write_all(fd, offer->comm, strlen(offer->comm), NULL);
	close(fd);
	close(file);
}

static void on_other(const char *text, size_t len, void *arg)
{
	(void)arg;
	fd_write_all(brought[1], text, len, NULL);
}

static void on_other_over(void *arg)
{
	(void)arg;
	fd_write_all(brought[1], ";", 1, NULL);
}

static void listen_for_ever(int ready)
{
	const struct nodes_callbacks callbacks = {
		.offer = on_offer, .open = on_open, .core = on_core, .other = on_other, .other_over = on_other_over
	};
	struct event_base *base = event_base_new();
	struct nodes *nodes;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (nodes_new(base, address.sun_path, &callbacks, &nodes, NULL) == 0 &&
	    write(ready, "x", 1) == 1)
		event_base_dispatch(base);
	_exit(1);
}

/* Its child is in the new namespace; the process that calls unshare stays outside. */
static void start_listener(bool own_namespace)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	listener = fork();
	assert_true(listener >= 0);
	if (listener == 0) {
		pid_t inner = own_namespace && unshare(CLONE_NEWPID) < 0 ? -1 : fork();

		if (inner == 0)
			listen_for_ever(ready[1]);
		close(ready[1]);
		if (inner > 0)
			waitpid(inner, NULL, 0);
		_exit(inner < 0 ? 77 : 0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(listener, NULL, 0);
		listener = 0;
	}
	close(ready[0]);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/nodes_test.XXXXXX");
	assert_non_null(mkdtemp(directory));
	assert_int_equal(pipe(brought), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/node.sock", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (listener > 0) {
		kill(listener, SIGKILL);
		/* This also waits for the process in the namespace, which ends with it. */
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
	listener = 0;
	close(brought[0]);
	close(brought[1]);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static int connect_here(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void say_core(int fd, int passed)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { .iov_base = "core", .iov_len = 4 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), &passed, sizeof(passed));
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), 4);
}

static const char *answer(int fd)
{
	static char text[200];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void the_node_offers_a_core_and_hands_it_over(void **state)
{
	int fd, fds[2];
	char text[16] = "";

	(void)state;
	start_listener(true);
	if (!listener)
		skip();
	fd = connect_here();
	assert_int_equal(pipe(fds), 0);
	say(fd, "node 1");
	say(fd, "something new");
	say(fd, "offer " ID " 43 11 x");
	assert_string_equal(answer(fd), "refuse PID 43: Device or resource busy");
	/* After a refusal no core may be sent. */
	say_core(fd, fds[1]);
	say(fd, "offer " ID " 42 11 ray::IDLE");
	assert_string_equal(answer(fd), "take");
	say_core(fd, fds[1]);
	close(fds[1]);
	assert_int_equal(read(fds[0], text, sizeof(text) - 1), 9);
	assert_string_equal(text, "ray::IDLE");
	assert_int_equal(read(fds[0], text, sizeof(text) - 1), 0);
	close(fds[0]);
	close(fd);
}

static void without_a_file_for_it_a_core_is_refused(void **state)
{
	int fd, other;

	(void)state;
	start_listener(true);
	if (!listener)
		skip();
	fd = connect_here();
	say(fd, "node 1");
	say(fd, "offer " ID " 45 11 x");
	assert_string_equal(answer(fd), "refuse /spool: No space left on device");
	say(fd, "offer " ID " 44 11 x");
	/* The loop turns meanwhile, and who goes before the answer leaves nothing behind. */
	other = connect_here();
	say(other, "node 1");
	say(other, "offer " ID " 43 11 x");
	assert_string_equal(answer(other), "refuse PID 43: Device or resource busy");
	say(other, "offer " ID " 42 11 x");
	close(other);
	assert_string_equal(answer(fd),
			    "refuse the disk for the core does not answer: Connection timed out");
	/* The process that was late has to end before another one is started. */
	do
		say(fd, "offer " ID " 42 11 x");
	while (strcmp(answer(fd), "take") != 0);
	close(fd);
}

static void what_is_not_about_cores_is_over_with_its_connection(void **state)
{
	static const char expected[] = "abc;d;";
	char text[16] = "";
	size_t n = 0;
	int fd, other;

	(void)state;
	start_listener(true);
	if (!listener)
		skip();
	fd = connect_here();
	say(fd, "node 1");
	say(fd, "a");
	say(fd, "b");
	/* It brings nothing. The answer shows that its messages were read. */
	other = connect_here();
	say(other, "node 1");
	say(other, "offer " ID " 43 11 x");
	assert_string_equal(answer(other), "refuse PID 43: Device or resource busy");
	close(other);
	say(fd, "c");
	close(fd);
	while (n < 4 && read(brought[0], text + n, 1) == 1)
		n++;
	fd = connect_here();
	say(fd, "node 1");
	say(fd, "d");
	close(fd);
	while (n < strlen(expected) && read(brought[0], text + n, 1) == 1)
		n++;
	assert_string_equal(text, expected);
}

static void who_does_not_greet_first_is_dropped(void **state)
{
	int fd;

	(void)state;
	start_listener(true);
	if (!listener)
		skip();
	fd = connect_here();
	say(fd, "offer " ID " 42 11 x");
	assert_string_equal(answer(fd), "");
	close(fd);
	fd = connect_here();
	say(fd, "node 99");
	assert_string_equal(answer(fd), "");
	close(fd);
}

static void a_process_that_has_a_pid_here_is_dropped(void **state)
{
	int fd;

	(void)state;
	start_listener(false);
	assert_true(listener > 0);
	fd = connect_here();
	send(fd, "node 1", strlen("node 1"), MSG_NOSIGNAL);
	send(fd, "offer " ID " 42 11 x", strlen("offer " ID " 42 11 x"), MSG_NOSIGNAL);
	assert_string_equal(answer(fd), "");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_node_offers_a_core_and_hands_it_over, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_a_file_for_it_a_core_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_about_cores_is_over_with_its_connection,
						setup, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_greet_first_is_dropped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_process_that_has_a_pid_here_is_dropped, setup,
						teardown),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
