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

#define UID "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"
#define OTHER "01234567-89ab-cdef-0123-456789abcdef"
#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"

static char directory[64], pods[96], proc[96], volume[256];
static int listener;

static void belongs_to(const char *uid)
{
	char path[160], text[256];

	snprintf(path, sizeof(path), "%s/%d", proc, (int)getpid());
	assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s/%d/cgroup", proc, (int)getpid());
	snprintf(text, sizeof(text), "0::/kubepods/pod%s/" ID "\n", uid);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static int setup(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int here;

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/sidecar_link_test.XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(pods, sizeof(pods), "%s/pods", directory);
	snprintf(proc, sizeof(proc), "%s/proc", directory);
	snprintf(volume, sizeof(volume), "%s/" UID "/volumes/kubernetes.io~empty-dir/afterglow-node", pods);
	assert_int_equal(dir_make_all(volume, 0755, NULL), 0);
	belongs_to(UID);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	/* The path is longer than a socket address can hold. */
	here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(volume), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), NODE_SOCKET_NAME);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fchdir(here), 0);
	close(here);
	return listen(listener, 4);
}

static int teardown(void **state)
{
	(void)state;
	close(listener);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static int open_link(int *ret_fd)
{
	return sidecar_link_open(pods, proc, UID, 0, ret_fd, NULL);
}

static void it_connects_and_says_who_it_is(void **state)
{
	char text[NODE_MESSAGE_MAX + 1];
	int link, sidecar;

	(void)state;
	assert_int_equal(open_link(&link), 0);
	sidecar = accept(listener, NULL, NULL);
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
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
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
	assert_int_equal(sidecar_link_open(pods, proc, OTHER, 0, &link, NULL), -ENOENT);
	close(listener);
	listener = -1;
	assert_int_equal(open_link(&link), -ECONNREFUSED);
}

static void a_sidecar_that_has_not_made_its_socket_yet_is_expected(void **state)
{
	char path[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, volume);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(open_link(&link), -ECONNREFUSED);
}

static void a_sidecar_that_crashed_itself_is_not_asked(void **state)
{
	int link;

	(void)state;
	assert_int_equal(sidecar_link_open(pods, proc, UID, getpid(), &link, NULL), -ECONNREFUSED);
	assert_int_equal(sidecar_link_open(pods, proc, UID, getpid() + 1, &link, NULL), 0);
	close(link);
}

static void a_listener_of_another_pod_is_refused(void **state)
{
	int link;

	(void)state;
	belongs_to(OTHER);
	assert_int_equal(open_link(&link), -EPERM);
	assert_true(tree_remove(AT_FDCWD, proc));
	assert_int_equal(open_link(&link), -EPERM);
}

static void links_are_not_followed(void **state)
{
	char path[512], moved[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, volume);
	snprintf(moved, sizeof(moved), "%s/moved", volume);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink("moved", path), 0);
	assert_int_equal(open_link(&link), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(moved, path), 0);
	snprintf(moved, sizeof(moved), "%s/elsewhere", directory);
	assert_int_equal(rename(volume, moved), 0);
	assert_int_equal(symlink(moved, volume), 0);
	assert_true(open_link(&link) < 0);
}

static void a_file_in_the_sockets_place_is_refused(void **state)
{
	char path[512];
	int link;

	(void)state;
	snprintf(path, sizeof(path), "%s/" NODE_SOCKET_NAME, volume);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(open_link(&link), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_connects_and_says_who_it_is, setup, teardown),
		cmocka_unit_test(a_descriptor_goes_along),
		cmocka_unit_test_setup_teardown(a_pod_without_a_sidecar_has_no_link, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_sidecar_that_has_not_made_its_socket_yet_is_expected, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sidecar_that_crashed_itself_is_not_asked, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_listener_of_another_pod_is_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_in_the_sockets_place_is_refused, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
