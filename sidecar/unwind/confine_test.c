/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the confinement. Each runs in a child, and its exit code is the result. */
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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sidecar/confine/escape_testing.h"
#include "sidecar/unwind/files.h"

#define BROKEN 77 /* exit code of a child whose handler ran */
#define LEFT_OPEN 200 /* descriptors that the parent has without close-on-exec */

static char directory[] = "/tmp/unwind_confine_test.XXXXXX";
static char secret[64], new_file[64];
static const char secret_text[] = "a secret outside\n";

/* What the confined child has access to. */
static struct {
	int core_fd;
	struct files files;
} given;

static void on_broken(const char *why)
{
	(void)why;
	_exit(BROKEN);
}

static void put(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* Makes DIRECTORY/secret, and DIRECTORY/root with a program in it and with links that lead out. */
static int make_world(void **state)
{
	static const char program[8192] = "\177ELF\2\1\1";
	char path[96], target[64];
	(void)state;

	assert_non_null(mkdtemp(directory));
	snprintf(secret, sizeof(secret), "%s/secret", directory);
	snprintf(new_file, sizeof(new_file), "%s/made", directory);
	put(secret, secret_text, strlen(secret_text));
	snprintf(path, sizeof(path), "%s/root", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/root/program", directory);
	put(path, program, sizeof(program));
	snprintf(path, sizeof(path), "%s/core", directory);
	put(path, program, sizeof(program));
	snprintf(path, sizeof(path), "%s/root/up", directory);
	assert_int_equal(symlink("../secret", path), 0);
	snprintf(path, sizeof(path), "%s/root/absolute", directory);
	assert_int_equal(symlink(secret, path), 0);
	snprintf(path, sizeof(path), "%s/root/self", directory);
	snprintf(target, sizeof(target), "/proc/%d/environ", (int)getpid());
	assert_int_equal(symlink(target, path), 0);
	return 0;
}

static int remove_world(void **state)
{
	char command[96];
	(void)state;

	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static void serve_forever(int socket_fd)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/root", directory);
	_exit(files_serve_confined(open(path, O_PATH | O_DIRECTORY), socket_fd, NULL) < 0);
}

/* Returns the wait status of a confined child that runs work. Another child opens files for it. */
static int run_confined(int (*work)(void))
{
	int ends[2], status, served;
	char path[64];
	pid_t server, pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	server = fork();
	if (server == 0) {
		close(ends[0]);
		serve_forever(ends[1]);
	}
	close(ends[1]);
	pid = fork();
	if (pid == 0) {
		struct err err = { 0 };

		snprintf(path, sizeof(path), "%s/core", directory);
		given.core_fd = open(path, O_RDONLY);
		dup2(open(secret, O_RDWR), LEFT_OPEN);
		dup2(open(directory, O_RDONLY | O_DIRECTORY), LEFT_OPEN + 1);
		const struct confine_fds fds = { .inputs = { given.core_fd, -1, -1 },
						 .files = ends[0],
						 .summary = -1 };

		if (files_begin(&given.files, ends[0], &err) < 0 ||
		    confine(&fds, on_broken, &err) < 0)
			_exit(99);
		_exit(work());
	}
	close(ends[0]);
	assert_return_code(pid, errno);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(waitpid(server, &served, 0), server);
	assert_int_equal(served, 0);
	return status;
}

static int expect_code(int (*work)(void))
{
	int status = run_confined(work);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int try_any_call(void)
{
	/*
	 * This list was written by hand, and not taken from the filter: whoever allows one more
	 * call has to add it here and say why it is safe.
	 */
	static const int allowed[] = {
		SYS_pread64, SYS_lseek, SYS_fstat, SYS_close, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
		SYS_fcntl, SYS_futex, SYS_getrandom, SYS_clock_gettime, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
		SYS_sigaltstack, SYS_restart_syscall, SYS_exit, SYS_exit_group, SYS_write, SYS_recvmsg,
	};

	return escape_by_any_call(allowed, ARRAY_SIZE(allowed));
}

static int try_paths(void)
{
	return escape_by_path(secret, new_file);
}

static int try_descriptors(void)
{
	const int mine[] = { given.core_fd, given.files.socket_fd };

	return escape_by_descriptor(mine, ARRAY_SIZE(mine)) ||
	       escape_by_writing(&given.files.socket_fd, 1) || escape_by_fcntl(given.core_fd) ||
	       escape_by_fcntl(given.files.socket_fd) || escape_by_fcntl(STDOUT_FILENO) ||
	       escape_by_mapping(given.core_fd) || escape_by_futex();
}

/* Descriptors come in through one socket, and none can go out. */
static int try_messages(void)
{
	struct msghdr m = { 0 };

	for (int fd = 0; fd < ESCAPE_DESCRIPTORS; fd++)
		if ((fd != given.files.socket_fd && !is_refused(recvmsg(fd, &m, MSG_DONTWAIT))) ||
		    !is_refused(sendmsg(fd, &m, 0)))
			return escaped("message", fd);
	return 0;
}

static int ask_for_files(void)
{
	static const char *const outside[] = {
		"/../secret",  "/up", "/absolute", "/self", "/proc/self/environ",
		"/etc/passwd", "/",   "program",   ""
	};
	const char *why;
	char byte;
	int fd = files_open(&given.files, "/program", &why);

	if (fd < 0 || pread(fd, &byte, 1, 0) != 1 || byte != '\177')
		return escaped(why, 0);
	if (escape_by_fcntl(fd) || escape_by_mapping(fd) ||
	    escape_by_writing(&given.files.socket_fd, 1))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		if (files_open(&given.files, outside[i], &why) >= 0)
			return escaped(outside[i], (long)i);
	/*
	 * A process under an attacker's control writes what it wants: the secret under its own
	 * name, and no text at all.
	 */
	if (write(given.files.socket_fd, secret, strlen(secret) + 1) < 0 ||
	    files_open(&given.files, "/up", &why) >= 0)
		return escaped("the secret by its name", 0);
	return 0;
}

#if !defined(__SANITIZE_ADDRESS__)
static int use_memory(void)
{
	size_t got = 0;

	for (void *p; got < 4 * CONFINE_MEMORY && (p = malloc(1 << 20)); got += 1 << 20)
		memset(p, 1, 1 << 20);
	return got <= CONFINE_MEMORY ? 0 : 1;
}

static int break_memory(void)
{
	/* The compiler cannot see that this address is invalid. */
	return *(volatile int *)(uintptr_t)(8 + 8 * (given.core_fd < 0));
}

static int (*volatile deeper)(void);

static int break_stack(void)
{
	volatile char room[4096];

	room[0] = (char)given.core_fd;
	deeper = break_stack;
	return deeper() + room[0];
}

#endif

static void every_other_system_call_is_refused(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_any_call), 0);
}

/* Checks that everything outside is unchanged, and that nothing is new. */
static void check_outside(void)
{
	char text[64] = "";
	struct stat st;
	int fd = open(secret, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, text, sizeof(text)), strlen(secret_text));
	assert_string_equal(text, secret_text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(access(new_file, F_OK), -1);
	close(fd);
}

static void no_call_with_a_path_reads_or_makes_a_file_outside(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_paths), 0);
	check_outside();
}

static void what_is_open_is_read_and_only_the_output_is_written(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_descriptors), 0);
	check_outside();
}

static void descriptors_come_in_by_one_socket_and_none_goes_out(void **state)
{
	(void)state;
	assert_int_equal(expect_code(try_messages), 0);
}

static void requests_for_files_get_only_programs_of_the_container(void **state)
{
	(void)state;
	assert_int_equal(expect_code(ask_for_files), 0);
	check_outside();
}

#if !defined(__SANITIZE_ADDRESS__)
static void memory_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(expect_code(use_memory), 0);
}

static void a_broken_unwinder_still_reports_why(void **state)
{
	(void)state;
	assert_int_equal(expect_code(break_memory), BROKEN);
	assert_int_equal(expect_code(break_stack), BROKEN);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_other_system_call_is_refused),
		cmocka_unit_test(no_call_with_a_path_reads_or_makes_a_file_outside),
		cmocka_unit_test(what_is_open_is_read_and_only_the_output_is_written),
		cmocka_unit_test(descriptors_come_in_by_one_socket_and_none_goes_out),
		cmocka_unit_test(requests_for_files_get_only_programs_of_the_container),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_broken_unwinder_still_reports_why),
#endif
	};

	return cmocka_run_group_tests_name("confine", tests, make_world, remove_world);
}
