/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the agent's connection to the sidecar of a pod, in a kubelet's directory and a procfs
 * that the test makes.
 */
#include "node/sidecar_link.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "node/pod_testing.h"

#define OTHER "01234567-89ab-cdef-0123-456789abcdef"

static int open_link(int *ret_fd)
{
	return sidecar_link_open(pod_pods, pod_proc, POD_UID, 0, ret_fd, NULL);
}

static void it_connects_and_says_who_it_is(void **state)
{
	char text[NODE_MESSAGE_MAX + 1];
	int link, sidecar;

	(void)state;
	assert_int_equal(open_link(&link), 0);
	sidecar = accept(pod_listener, NULL, NULL);
	assert_int_equal(sidecar_link_receive(sidecar, 60000, text, NULL), 0);
	assert_string_equal(text, "node 1");
	assert_int_equal(sidecar_link_receive(sidecar, 0, text, NULL), -ETIMEDOUT);
	close(link);
	assert_int_equal(sidecar_link_receive(sidecar, 60000, text, NULL), -EPIPE);
	close(sidecar);
}

static void a_descriptor_goes_along(void **state)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char text[16];
	struct iovec part = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2], sent[2], got;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(pipe(sent), 0);
	assert_int_equal(sidecar_link_send(pair[0], "core", sent[0], NULL), 0);
	assert_int_equal(recvmsg(pair[1], &message, 0), 4);
	memcpy(&got, CMSG_DATA(&control.header), sizeof(got));
	assert_int_equal(write(sent[1], "x", 1), 1);
	assert_int_equal(read(got, text, 1), 1);
	assert_int_equal(text[0], 'x');
	close(got);
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(sent[i]);
	}
}

static void a_pod_without_a_sidecar_has_no_link(void **state)
{
	int link;

	(void)state;
	assert_int_equal(sidecar_link_open(pod_pods, pod_proc, OTHER, 0, &link, NULL), -ENOENT);
	close(pod_listener);
	pod_listener = -1;
	assert_int_equal(open_link(&link), -ECONNREFUSED);
}

static void a_sidecar_that_has_not_made_its_socket_yet_is_expected(void **state)
{
	char path[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, pod_volume);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(open_link(&link), -ECONNREFUSED);
}

static void a_sidecar_that_crashed_itself_is_not_asked(void **state)
{
	int link;

	(void)state;
	assert_int_equal(sidecar_link_open(pod_pods, pod_proc, POD_UID, getpid(), &link, NULL),
			 -ECONNREFUSED);
	assert_int_equal(sidecar_link_open(pod_pods, pod_proc, POD_UID, getpid() + 1, &link, NULL),
			 0);
	close(link);
}

static void a_listener_of_another_pod_is_refused(void **state)
{
	int link = -1;

	(void)state;
	pod_has_this_process(OTHER);
	assert_int_equal(open_link(&link), -EPERM);
	/* The listener has the connection all the same. */
	assert_true(link >= 0);
	close(link);
	assert_true(tree_remove(AT_FDCWD, pod_proc));
	assert_int_equal(open_link(&link), -EPERM);
}

static void links_are_not_followed(void **state)
{
	char path[512], moved[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, pod_volume);
	snprintf(moved, sizeof(moved), "%s/moved", pod_volume);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink("moved", path), 0);
	assert_int_equal(open_link(&link), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(moved, path), 0);
	snprintf(moved, sizeof(moved), "%s/elsewhere", pod_directory);
	assert_int_equal(rename(pod_volume, moved), 0);
	assert_int_equal(symlink(moved, pod_volume), 0);
	assert_true(open_link(&link) < 0);
}

static void a_file_in_the_sockets_place_is_refused(void **state)
{
	char path[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, pod_volume);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(open_link(&link), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_connects_and_says_who_it_is, pod_setup,
						pod_teardown),
		cmocka_unit_test(a_descriptor_goes_along),
		cmocka_unit_test_setup_teardown(a_pod_without_a_sidecar_has_no_link, pod_setup,
						pod_teardown),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_has_not_made_its_socket_yet_is_expected, pod_setup,
			pod_teardown),
		cmocka_unit_test_setup_teardown(a_sidecar_that_crashed_itself_is_not_asked,
						pod_setup, pod_teardown),
		cmocka_unit_test_setup_teardown(a_listener_of_another_pod_is_refused, pod_setup,
						pod_teardown),
		cmocka_unit_test_setup_teardown(links_are_not_followed, pod_setup, pod_teardown),
		cmocka_unit_test_setup_teardown(a_file_in_the_sockets_place_is_refused, pod_setup,
						pod_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
