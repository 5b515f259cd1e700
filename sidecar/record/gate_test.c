/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the gate with descriptors of every kind, and with files of a FUSE server that answers
 * nothing.
 */
#include "sidecar/record/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/magic.h>
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
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/log.h"
#include "lib/macros.h"
#include "sidecar/socket/discard.h"

#define ROOT (1 << GATE_ROOT)
#define LOG (1 << GATE_TERMINATION_LOG)
#define PIDFD (1 << GATE_PIDFD)
#define CORE (1 << GATE_CORE)
#define CGROUP (1 << GATE_CGROUP)

static bool is_cgroupfs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 &&
	       (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

static void each_kind_is_admitted_for_its_purpose_and_no_other(void **state)
{
	char path[] = "/tmp/gate_test.XXXXXX", fifo[64];
	const char *cgroups =
		is_cgroupfs("/sys/fs/cgroup/memory") ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
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
		{ open("/tmp", O_PATH | O_CLOEXEC), 0 },
		{ open("/proc", O_PATH | O_CLOEXEC), 0 },
		{ open(cgroups, O_PATH | O_CLOEXEC), is_cgroupfs(cgroups) ? CGROUP : 0 },
		{ open(cgroups, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0 },
		{ open("/sys", O_PATH | O_CLOEXEC), 0 },
		{ open("/proc/self/ns", O_PATH | O_CLOEXEC), 0 },
		{ open("/sys/kernel", O_PATH | O_CLOEXEC), 0 },
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
				fail_msg("row %zu, kind %d: %s", i, (int)kind,
					 admitted ? "admitted" : err_text(&err));
		}
		close(rows[i].fd);
	}
	assert_int_equal(gate_admit(-1, GATE_ROOT, NULL), -EPROTO);
	unlink(fifo);
	unlink(path);
}

/* Runs a FUSE server that lets files be opened, and answers nothing else. */
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
			out.body.init = (struct fuse_init_out){ .major = 7,
								.minor = 31,
								.max_write = 4096 };
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

	snprintf(options, sizeof(options), "fd=%d,rootmode=100644,user_id=%d,group_id=%d", fd,
		 (int)getuid(), (int)getgid());
	if (fd < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("gate_test", path, "fuse", 0, options) < 0)
		return false;
	server = fork();
	if (server == 0)
		serve(fd);
	close(fd);
	return true;
}

/* Runs in a child, which an alarm ends. Returns 77 if mounting is not permitted. */
static int try_fuse(const char *path)
{
	int file, core;

	if (!mount_server(path))
		return 77;
	alarm(300);
	core = open(path, O_PATH | O_CLOEXEC);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0 || core < 0)
		return 1;
	for (enum gate_kind kind = 0; kind < GATE_KIND_COUNT; kind++)
		if (gate_admit(file, kind, NULL) == 0 || gate_admit(core, kind, NULL) == 0)
			return 2;
	/* Closing these does not wait for the server either. */
	discard((const int[]){ core, file }, 2);
	return 0;
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

		/*
		 * Our own exit closes the file as well, which would wait for the server. So the
		 * server is killed first.
		 */
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
		cmocka_unit_test(files_of_a_fuse_server_that_hangs_are_refused_without_waiting_for_it),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
