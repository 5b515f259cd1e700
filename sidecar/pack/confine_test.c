/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the packer's confinement. Each runs in a child, and its exit code is the result. */
#include "sidecar/pack/confine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "sidecar/confine/escape_testing.h"

static char directory[] = "/tmp/pack_confine_test.XXXXXX";
static char secret[64], new_file[64];
static int core_fd, out_fd;
static bool streams; /* the core comes through a pipe */

static int make_world(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(secret, sizeof(secret), "%s/secret", directory);
	snprintf(new_file, sizeof(new_file), "%s/made", directory);
	close(open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return truncate(secret, 8192);
}

static int remove_world(void **state)
{
	(void)state;
	unlink(secret);
	return rmdir(directory);
}

static int code_of(int (*work)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		core_fd = open(secret, O_RDONLY);
		out_fd = memfd_create("out", 0);
		dup2(open(directory, O_RDONLY | O_DIRECTORY), 200);
		if (pack_confine_files(core_fd, out_fd, NULL) < 0 ||
		    pack_confine_calls(streams ? core_fd : -1, out_fd, NULL) < 0)
			_exit(99);
		_exit(work());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int try_any_call(void)
{
	static const int allowed[] = {
		SYS_pread64, SYS_lseek, SYS_fstat, SYS_write, SYS_fdatasync, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise,
		SYS_brk, SYS_futex, SYS_sched_yield, SYS_clock_gettime, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_rt_sigreturn,
		SYS_rt_sigprocmask, SYS_restart_syscall, SYS_set_robust_list, SYS_rseq, SYS_exit, SYS_exit_group,
	};

	return escape_by_any_call(allowed, ARRAY_SIZE(allowed));
}

static int try_paths(void)
{
	return escape_by_path(secret, new_file);
}

static int try_descriptors(void)
{
	const int mine[] = { core_fd, out_fd };

	return escape_by_descriptor(mine, ARRAY_SIZE(mine)) || escape_by_writing(&out_fd, 1) ||
	       escape_by_mapping(core_fd) || escape_by_futex();
}

static void every_other_system_call_is_refused(void **state)
{
	(void)state;
	assert_int_equal(code_of(try_any_call), 0);
}

static void no_call_with_a_path_reads_or_makes_a_file(void **state)
{
	(void)state;
	assert_int_equal(code_of(try_paths), 0);
	assert_int_equal(access(new_file, F_OK), -1);
}

static void the_core_is_read_and_the_output_written_and_nothing_else(void **state)
{
	(void)state;
	assert_int_equal(code_of(try_descriptors), 0);
}

static int try_reading(void)
{
	char byte;

	return read(core_fd, &byte, 1) != 1 || read(out_fd, &byte, 1) != -1 || errno != EACCES ||
	       read(STDIN_FILENO, &byte, 1) != -1;
}

static void of_a_stream_nothing_but_that_is_read(void **state)
{
	(void)state;
	streams = true;
	assert_int_equal(code_of(try_reading), 0);
	streams = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_other_system_call_is_refused),
		cmocka_unit_test(no_call_with_a_path_reads_or_makes_a_file),
		cmocka_unit_test(the_core_is_read_and_the_output_written_and_nothing_else),
		cmocka_unit_test(of_a_stream_nothing_but_that_is_read),
	};

#if defined(__SANITIZE_ADDRESS__)
	return 0; /* there is no filter here: see confine.c */
#endif
	return cmocka_run_group_tests_name("pack's confinement", tests, make_world, remove_world);
}
