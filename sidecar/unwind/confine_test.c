/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the confinement: each in a child, which tells by its exit code. */
#include "sidecar/unwind/confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sidecar/sample/rootfd.h"

#define BROKEN 77 /* exit code of a child whose handler ran */

static void on_broken(const char *why)
{
	(void)why;
	_exit(BROKEN);
}

/* The wait status of a confined child that runs work. */
static int run_confined(int (*work)(int root_fd))
{
	int root_fd = open("/etc", O_PATH | O_DIRECTORY), status;
	pid_t pid = fork();

	if (pid == 0) {
		struct err err = { 0 };

		if (confine(root_fd, -1, on_broken, &err) < 0)
			_exit(99);
		_exit(work(root_fd));
	}
	assert_return_code(pid, errno);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(root_fd);
	return status;
}

static int expect_code(int (*work)(int root_fd))
{
	int status = run_confined(work);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int refused(long result)
{
	return result == -1 && errno == EACCES ? 0 : 1;
}

static int try_network(int root_fd)
{
	(void)root_fd;
	return refused(socket(AF_INET, SOCK_STREAM, 0)) + 2 * refused(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int try_processes(int root_fd)
{
	char *const none[] = { NULL };

	(void)root_fd;
	return refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) + 2 * refused(execve("/bin/true", none, none)) +
	       4 * refused(kill(getppid(), 0)) + 8 * refused(syscall(SYS_ptrace, 0, 0, 0, 0));
}

static int try_files(int root_fd)
{
	return refused(open("/etc/passwd", O_RDONLY)) + 2 * refused(openat(root_fd, "passwd", O_RDONLY)) +
	       4 * refused(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0)) + 8 * refused(unlink("/tmp/none"));
}

static int read_below_root(int root_fd)
{
	char byte;
	int fd = rootfd_open(root_fd, "/passwd", O_RDONLY, NULL);

	return fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : 1;
}

/* What the parent left open is not for writing. */
static int write_elsewhere(int root_fd)
{
	int fd = dup(STDERR_FILENO);

	(void)root_fd;
	return fd >= 0 ? 1 : refused(write(100, "x", 1));
}

#if !defined(__SANITIZE_ADDRESS__)
static int use_memory(int root_fd)
{
	size_t got = 0;

	(void)root_fd;
	for (void *p; got < 4 * CONFINE_MEMORY && (p = malloc(1 << 20)); got += 1 << 20)
		memset(p, 1, 1 << 20);
	return got <= CONFINE_MEMORY ? 0 : 1;
}

static int break_memory(int root_fd)
{
	/* An address that the compiler cannot see to be none. */
	return *(volatile int *)(uintptr_t)(8 + 8 * (root_fd < 0));
}

static int (*volatile deeper)(int);

static int break_stack(int root_fd)
{
	volatile char room[4096];

	room[0] = (char)root_fd;
	deeper = break_stack;
	return deeper(room[0] + 1) + room[0];
}

#endif

static void there_is_no_network(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_network), 0);
}

static void there_are_no_other_processes(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_processes), 0);
}

static void files_are_opened_below_the_root_only(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_files), 0);
	assert_int_equal(expect_code(read_below_root), 0);
}

static void only_its_output_is_written(void **state)
{
	(void)state;
	assert_int_equal(expect_code(write_elsewhere), 0);
}

#if !defined(__SANITIZE_ADDRESS__)
static void memory_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(expect_code(use_memory), 0);
}

static void what_breaks_can_still_be_told(void **state)
{
	(void)state;
	assert_int_equal(expect_code(break_memory), BROKEN);
	assert_int_equal(expect_code(break_stack), BROKEN);
}
#endif

static int raise_limits(int root_fd)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	(void)root_fd;
	return refused(setrlimit(RLIMIT_CPU, &limit));
}

static void limits_cannot_be_raised(void **state)
{
	(void)state;
	assert_int_equal(expect_code(raise_limits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_no_network),
		cmocka_unit_test(there_are_no_other_processes),
		cmocka_unit_test(files_are_opened_below_the_root_only),
		cmocka_unit_test(only_its_output_is_written),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(what_breaks_can_still_be_told),
#endif
		cmocka_unit_test(limits_cannot_be_raised),
	};

	return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}
