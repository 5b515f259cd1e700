/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of copying cores, and of how many are sent to sidecars at a time. The rules for files are
 * tested on a real kernel: e2e/kernel/node_cores_test.sh.
 */
#include "node/core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define PAGE_MAX 65536 /* of arm64 */

static size_t page;

static int set_page(void **state)
{
	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	return page <= PAGE_MAX ? 0 : -1;
}

/* Makes a stream: two pages of data around a page of zeros, and a part of a page. */
static int new_stream(size_t len)
{
	static char data[3 * PAGE_MAX + 100];
	int fd = memfd_create("stream", 0);

	memset(data, 'a', 3 * page + 100);
	memset(data + page, 0, page);
	assert_int_equal(fd_write_all(fd, data, len, NULL), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static off_t copied(size_t len, uint64_t limit, char *ret, size_t room)
{
	_cleanup_close_ int stream = new_stream(len), file = memfd_create("file", 0);
	off_t size;

	assert_int_equal(core_copy(stream, file, limit, NULL), 0);
	size = lseek(file, 0, SEEK_END);
	assert_int_equal(pread(file, ret, room, 0), size);
	return size;
}

static void a_copy_is_the_stream_byte_for_byte(void **state)
{
	_cleanup_close_ int stream = new_stream(3 * page + 100);
	static char original[4 * PAGE_MAX], copy[4 * PAGE_MAX];

	(void)state;
	assert_int_equal(pread(stream, original, sizeof(original), 0), 3 * page + 100);
	assert_int_equal(copied(3 * page + 100, UINT64_MAX, copy, sizeof(copy)), 3 * page + 100);
	assert_memory_equal(original, copy, 3 * page + 100);
	assert_int_equal(copied(2 * page, UINT64_MAX, copy, sizeof(copy)), 2 * page);
	assert_int_equal(copied(0, UINT64_MAX, copy, sizeof(copy)), 0);
}

static void the_core_limit_bounds_what_is_written(void **state)
{
	static char copy[4 * PAGE_MAX];

	(void)state;
	assert_int_equal(copied(3 * page + 100, 2 * page, copy, sizeof(copy)), 3 * page);
	assert_int_equal(copied(3 * page + 100, 2 * page - 1, copy, sizeof(copy)), 2 * page);
	assert_int_equal(copied(3 * page + 100, 1, copy, sizeof(copy)), 0);
}

static void a_long_stream_keeps_its_bytes_and_its_holes(void **state)
{
	enum { PAGES = 64 }; /* more than one read takes */
	static char original[PAGES * PAGE_MAX + 100], copy[sizeof(original)];
	const size_t len = PAGES * page + 100;
	_cleanup_close_ int stream = memfd_create("stream", 0), file = memfd_create("file", 0);
	struct stat st;

	(void)state;
	for (size_t i = 0; i <= PAGES; i += i % 5 == 3 ? 3 : 1)
		original[i * page + 99] = 'a';
	assert_int_equal(fd_write_all(stream, original, len, NULL), 0);
	assert_int_equal(lseek(stream, 0, SEEK_SET), 0);
	assert_int_equal(core_copy(stream, file, UINT64_MAX, NULL), 0);
	assert_int_equal(pread(file, copy, sizeof(copy), 0), len);
	assert_memory_equal(original, copy, len);
	assert_int_equal(fstat(file, &st), 0);
	assert_true((size_t)st.st_blocks * 512 < (PAGES - 8) * page);
}

static void a_copy_that_goes_on_is_given_more_time(void **state)
{
	const struct {
		off_t size;
		unsigned int left_max; /* seconds */
	} rows[] = { { (off_t)page, 1000 }, { 4 * 1024 * 1024, CORE_STALL_S } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_close_ int stream = memfd_create("stream", 0),
				    file = memfd_create("file", 0);
		unsigned int left;

		assert_int_equal(ftruncate(stream, rows[i].size), 0);
		alarm(1000);
		assert_int_equal(core_copy(stream, file, UINT64_MAX, NULL), 0);
		left = alarm(0);
		assert_true(left > rows[i].left_max - 100 && left <= rows[i].left_max);
	}
}

static void below_a_page_there_is_no_core(void **state)
{
	const struct core_arguments none = { .pid = 1, .limit = page - 1, .dumpable = 1 };

	(void)state;
	assert_int_equal(core_file_write(&none, -1, "/nonexistent/core", -1, NULL), 0);
}

static void a_set_user_id_programs_core_needs_an_absolute_path(void **state)
{
	const struct core_arguments suid = { .pid = 1, .limit = UINT64_MAX, .dumpable = 2 };

	(void)state;
	assert_int_equal(core_file_write(&suid, -1, "core", -1, NULL), -EPERM);
}

static void a_pid_that_another_process_took_is_noticed(void **state)
{
	/* Our own PID stands for one that was reused by another process. */
	const struct core_arguments arguments = { .pid = getpid(),
						  .limit = UINT64_MAX,
						  .dumpable = 1 };
	pid_t child = fork();
	int pidfd;

	(void)state;
	if (child == 0)
		for (;;)
			pause();
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(core_process_check(pidfd, NULL), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(core_process_check(pidfd, NULL), -ESRCH);
	assert_int_equal(core_file_write(&arguments, pidfd, "/nonexistent/core", -1, NULL), -ESRCH);
	assert_int_equal(core_process_check(-1, NULL), 0);
	close(pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_the_stream_byte_for_byte),
		cmocka_unit_test(the_core_limit_bounds_what_is_written),
		cmocka_unit_test(a_long_stream_keeps_its_bytes_and_its_holes),
		cmocka_unit_test(a_copy_that_goes_on_is_given_more_time),
		cmocka_unit_test(below_a_page_there_is_no_core),
		cmocka_unit_test(a_set_user_id_programs_core_needs_an_absolute_path),
		cmocka_unit_test(a_pid_that_another_process_took_is_noticed),
	};

	return cmocka_run_group_tests(tests, set_page, NULL);
}
