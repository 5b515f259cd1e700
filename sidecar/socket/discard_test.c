/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of closing descriptors that others made. A socket that lingers would block this process for
 * an hour.
 */
#include "sidecar/socket/discard.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"

/*
 * Makes a TCP connection whose last close sleeps: much data is on the way, and its other end
 * (*ret_other) reads none of it.
 */
static int lingering_socket(int *ret_other)
{
	const struct linger hour = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	static const char data[65536];
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(server, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
	*ret_other = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	close(server);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)), 0);
	return fd;
}

static void wait_until_closed(int fd)
{
	for (int i = 0; i < 20000 && fcntl(fd, F_GETFD) >= 0; i++)
		usleep(1000);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_socket_that_lingers_is_closed_without_waiting(void **state)
{
	int other, fd = lingering_socket(&other);
	(void)state;

	discard(&fd, 1);
	wait_until_closed(fd);
	close(other);
}

static void files_and_directories_are_closed_too(void **state)
{
	int fds[] = { open("/", O_PATH | O_CLOEXEC), open("/proc/self/stat", O_RDONLY | O_CLOEXEC),
		      -1 };
	(void)state;

	discard(fds, ARRAY_SIZE(fds));
	wait_until_closed(fds[0]);
	wait_until_closed(fds[1]);
}

static void send_fd(int socket_fd, int fd, size_t len)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { .iov_base = (char[]){ "x" }, .iov_len = len };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	assert_int_equal(sendmsg(socket_fd, &m, 0), len);
}

/* Closing the descriptor in the message closes the connection. */
static void a_connection_with_one_in_an_unread_message_is_closed_without_waiting(void **state)
{
	(void)state;

	/* The message may contain nothing but descriptors. */
	for (size_t len = 0; len <= 1; len++) {
		int ends[2], other, fd = lingering_socket(&other);

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		send_fd(ends[0], fd, len);
		close(fd);
		discard_connection(ends[1]);
		wait_until_closed(ends[1]);
		close(ends[0]);
		close(other);
	}
}

/* The kernel then says that the connection was reset before it says that there is a message. */
static void so_is_one_whose_other_end_left_an_order_unread(void **state)
{
	int ends[2], other, fd = lingering_socket(&other);
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	send_fd(ends[0], fd, 1);
	close(fd);
	assert_int_equal(send(ends[1], "done", 4, 0), 4);
	close(ends[0]);
	discard_connection(ends[1]);
	wait_until_closed(ends[1]);
	close(other);
}

static void nothing_to_read_is_closed_at_once(void **state)
{
	int ends[2];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	discard_connection(ends[1]);
	assert_int_equal(fcntl(ends[1], F_GETFD), -1);
	discard_connection(-1);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_that_lingers_is_closed_without_waiting),
		cmocka_unit_test(files_and_directories_are_closed_too),
		cmocka_unit_test(a_connection_with_one_in_an_unread_message_is_closed_without_waiting),
		cmocka_unit_test(so_is_one_whose_other_end_left_an_order_unread),
		cmocka_unit_test(nothing_to_read_is_closed_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
