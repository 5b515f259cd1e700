/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of every kind at the gate; sockets whose close would sleep, files of a FUSE server that answers nothing. */
#include "sidecar/record/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/macros.h"
#include "sidecar/record/channel.h"

#define ROOT (1 << GATE_ROOT)
#define LOG (1 << GATE_TERMINATION_LOG)
#define PIDFD (1 << GATE_PIDFD)
#define CORE (1 << GATE_CORE)

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void each_kind_is_admitted_for_its_purpose_and_no_other(void **state)
{
	char path[] = "/tmp/gate_test.XXXXXX", fifo[64];
	int file = mkstemp(path), pair[2], ends[2];
	(void)state;

	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const struct {
		int fd, admitted;
	} rows[] = {
		{ file, LOG | CORE },
		{ open(path, O_RDONLY | O_CLOEXEC), CORE },
		{ open(path, O_WRONLY | O_CLOEXEC), LOG },
		{ open(path, O_WRONLY | O_APPEND | O_CLOEXEC), 0 },
		{ open(path, O_RDWR | O_APPEND | O_CLOEXEC), CORE },
		{ open(path, O_PATH | O_CLOEXEC), 0 },
		{ open("/", O_PATH | O_CLOEXEC), ROOT },
		{ open("/tmp", O_PATH | O_CLOEXEC), ROOT },
		{ open("/proc", O_PATH | O_CLOEXEC), ROOT },
		{ open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0 },
		{ open("/dev/null", O_RDWR | O_CLOEXEC), 0 },
		{ open("/dev/zero", O_PATH | O_CLOEXEC), 0 },
		{ open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC), 0 },
		{ memfd_create("\nPid:\t1", MFD_CLOEXEC), LOG | CORE },
		{ (int)syscall(SYS_pidfd_open, getpid(), 0), PIDFD },
		{ eventfd(0, EFD_CLOEXEC), 0 },
		{ epoll_create1(EPOLL_CLOEXEC), 0 },
		{ pair[0], 0 },
		{ pair[1], 0 },
		{ ends[0], 0 },
		{ ends[1], 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(rows[i].fd >= 0);
		for (enum gate_kind kind = 0; kind < GATE_KIND_COUNT; kind++) {
			struct err err = { 0 };
			bool admitted = gate_admit(rows[i].fd, kind, &err) == 0;

			if (admitted != !!(rows[i].admitted & 1 << kind))
				fail_msg("row %zu, kind %d: %s", i, (int)kind, admitted ? "admitted" : err_text(&err));
		}
		gate_refuse(rows[i].fd);
		assert_false(is_open(rows[i].fd));
	}
	assert_int_equal(gate_admit(-1, GATE_ROOT, NULL), -EPROTO);
	unlink(fifo);
	unlink(path);
}

/* With an hour of SO_LINGER, and data that nobody reads. Its other end is *ret_reader. */
static int lingering_socket(int *ret_reader)
{
	const struct linger hour = { .l_onoff = 1, .l_linger = 3600 };
	static const char data[65536];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	*ret_reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)), 0);
	return fd;
}

/* fds go to the other end, and are its alone. */
static void hand_over(int socket_fd, int *fds, size_t n)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)"x", .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int)) };

	control.header = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	assert_int_equal(sendmsg(socket_fd, &message, 0), 1);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* An hour would pass; the alarm ends the test long before. */
static void a_socket_that_lingers_holds_nobody_up(void **state)
{
	int reader;
	int fd = lingering_socket(&reader);
	(void)state;

	alarm(60);
	gate_refuse(fd);
	alarm(0);
	assert_false(is_open(fd));
	close(reader);
}

static void sockets_that_linger_beyond_what_a_message_may_have_hold_nobody_up(void **state)
{
	char text[LAUNCH_MESSAGE_MAX];
	int pair[2], readers[5], sent[5], fds[LAUNCH_FDS_MAX];
	size_t len, n;
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		sent[i] = lingering_socket(&readers[i]);
	alarm(60);
	hand_over(pair[0], sent, ARRAY_SIZE(sent));
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(n, LAUNCH_FDS_MAX);
	while (n > 0)
		gate_refuse(fds[--n]);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		close(readers[i]);
	/* Nor in a message that nobody reads. */
	sent[0] = lingering_socket(&readers[0]);
	hand_over(pair[0], sent, 1);
	launch_close(pair[1]);
	alarm(0);
	close(readers[0]);
	close(pair[0]);
}

/* A FUSE server that lets files be opened, and answers nothing else. */
_Noreturn static void serve(int fuse_fd)
{
	static char request[1 << 17];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fuse_fd, request, sizeof(request)) > 0) {
		const struct fuse_in_header *in = (const struct fuse_in_header *)request;
		struct {
			struct fuse_out_header header;
			union {
				struct fuse_init_out init;
				struct fuse_open_out open;
			} body;
		} out = { .header.unique = in->unique };

		if (in->opcode == FUSE_INIT) {
			out.body.init = (struct fuse_init_out){ .major = 7, .minor = 31, .max_write = 4096 };
			out.header.len = sizeof(out.header) + sizeof(out.body.init);
		} else if (in->opcode == FUSE_OPEN)
			out.header.len = sizeof(out.header) + sizeof(out.body.open);
		if (out.header.len && write(fuse_fd, &out, out.header.len) < 0)
			_exit(1);
	}
	_exit(0);
}

static pid_t server;

/* Mounts such a server's only file at path, in a mount namespace of this process. */
static bool mount_server(const char *path)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	snprintf(options, sizeof(options), "fd=%d,rootmode=100644,user_id=%d,group_id=%d", fd, (int)getuid(), (int)getgid());
	if (fd < 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("gate_test", path, "fuse", 0, options) < 0)
		return false;
	server = fork();
	if (server == 0)
		serve(fd);
	close(fd);
	return true;
}

/* In a child, which the alarm ends: 77 where nobody may mount. */
static int try_fuse(const char *path)
{
	int file, core;

	if (!mount_server(path))
		return 77;
	alarm(60);
	core = open(path, O_PATH | O_CLOEXEC);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0 || core < 0)
		return 1;
	for (enum gate_kind kind = 0; kind < GATE_KIND_COUNT; kind++)
		if (gate_admit(file, kind, NULL) == 0 || gate_admit(core, kind, NULL) == 0)
			return 2;
	gate_refuse(core);
	gate_refuse(file);
	/* Closing the one would have waited for ever. */
	if (is_open(core) || !is_open(file) || !gate_is_open())
		return 3;
	for (int i = 1; i < GATE_LEFT_MAX; i++)
		gate_refuse(fcntl(file, F_DUPFD_CLOEXEC, 0));
	return gate_is_open() ? 4 : 0;
}

static void files_of_a_fuse_server_that_hangs_are_refused_without_waiting_for_it(void **state)
{
	char path[] = "/tmp/gate_test.XXXXXX";
	int status;
	pid_t pid;
	(void)state;

	close(mkstemp(path));
	pid = fork();
	if (pid == 0) {
		int result = try_fuse(path);

		/* Our own end closes the file as well: the server goes first, and ends the wait. */
		if (server)
			kill(server, SIGKILL);
		_exit(result);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_admitted_for_its_purpose_and_no_other),
		cmocka_unit_test(a_socket_that_lingers_holds_nobody_up),
		cmocka_unit_test(sockets_that_linger_beyond_what_a_message_may_have_hold_nobody_up),
		cmocka_unit_test(files_of_a_fuse_server_that_hangs_are_refused_without_waiting_for_it),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
