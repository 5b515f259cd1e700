/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading and writing files. Linked with --wrap for read, pread, write and fsync. */
#include "lib/fileio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* How the wrapped calls behave from now on. If all members are zero, they behave as always. */
static struct {
	size_t most; /* bytes that a call reads or writes at most */
	int interrupts; /* this many calls are interrupted first */
	int fail_after; /* this many calls succeed, the next one fails with fail_with */
	int fail_with; /* an errno, or -1: the call returns 0 */
} fault;

ssize_t __real_read(int fd, void *data, size_t len);
ssize_t __real_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __real_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
ssize_t __wrap_read(int fd, void *data, size_t len);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_fsync(int fd);

/* Returns whether the call is to fail. Then errno is set. */
static bool faulty(void)
{
	if (fault.interrupts > 0) {
		fault.interrupts--;
		errno = EINTR;
		return true;
	}
	if (fault.fail_with && fault.fail_after-- <= 0) {
		errno = fault.fail_with;
		return true;
	}
	return false;
}

static size_t cut(size_t len)
{
	return fault.most && fault.most < len ? fault.most : len;
}

ssize_t __wrap_read(int fd, void *data, size_t len)
{
	return faulty() ? -1 : __real_read(fd, data, cut(len));
}

ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset)
{
	return faulty() ? -1 : __real_pread(fd, data, cut(len), offset);
}

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	if (faulty())
		return errno == -1 ? 0 : -1;
	return __real_write(fd, data, cut(len));
}

int __wrap_fsync(int fd)
{
	return faulty() ? -1 : __real_fsync(fd);
}

static char directory[] = "/tmp/fileio_test.XXXXXX";
static int dirfd_;

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	dirfd_ = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlinkat(dirfd_, "f", 0);
	close(dirfd_);
	return rmdir(directory);
}

static int no_faults(void **state)
{
	(void)state;
	memset(&fault, 0, sizeof(fault));
	return 0;
}

static void what_was_written_is_read_back(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(100);
	struct stat st;

	(void)state;
	assert_int_equal(file_write(dirfd_, "f", "one\0two", 7, 0640, NULL), 0);
	assert_int_equal(fstatat(dirfd_, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(file_read(dirfd_, "f", &out, NULL), 0);
	assert_int_equal(out.len, 7);
	assert_memory_equal(strbuf_str(&out), "one\0two", 8);
	assert_int_equal(file_write(dirfd_, "f", "new", 3, 0640, NULL), 0);
	strbuf_reset(&out);
	assert_int_equal(file_read(dirfd_, "f", &out, NULL), 0);
	assert_string_equal(strbuf_str(&out), "new");
}

static void reading_appends_to_what_is_there(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(100);

	(void)state;
	file_write(dirfd_, "f", "tail", 4, 0600, NULL);
	strbuf_adds(&out, "head ");
	assert_int_equal(file_read(dirfd_, "f", &out, NULL), 0);
	assert_string_equal(strbuf_str(&out), "head tail");
}

static void a_part_is_read_whole_unless_the_file_ends_before(void **state)
{
	char data[10] = "";
	int fd;

	(void)state;
	file_write(dirfd_, "f", "0123456789", 10, 0600, NULL);
	fd = openat(dirfd_, "f", O_RDONLY | O_CLOEXEC);
	fault.most = 2;
	fault.interrupts = 2;
	assert_int_equal(fd_read_whole(fd, data, 7, -1), 7);
	assert_memory_equal(data, "0123456", 7);
	assert_int_equal(fd_read_whole(fd, data, 7, -1), 3);
	assert_memory_equal(data, "789", 3);
	assert_int_equal(fd_read_whole(fd, data, 4, 2), 4);
	assert_memory_equal(data, "2345", 4);
	assert_int_equal(fd_read_whole(fd, data, 4, 8), 2);
	lseek(fd, 0, SEEK_SET);
	fault.fail_after = 1;
	fault.fail_with = EIO;
	assert_int_equal(fd_read_whole(fd, data, 4, -1), -EIO);
	close(fd);
}

static void short_and_interrupted_calls_are_continued(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(100000);
	char data[50000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	fault.most = 777;
	fault.interrupts = 3;
	assert_int_equal(file_write(dirfd_, "f", data, sizeof(data), 0600, NULL), 0);
	fault.interrupts = 3;
	assert_int_equal(file_read(dirfd_, "f", &out, NULL), 0);
	assert_int_equal(out.len, sizeof(data));
	assert_memory_equal(out.data, data, sizeof(data));
}

static void a_file_as_large_as_the_ceiling_fits_and_one_byte_more_does_not(void **state)
{
	struct err err = { 0 };

	(void)state;
	for (size_t size = 19999; size <= 20001; size++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(20000);
		char data[20001];

		memset(data, 'x', sizeof(data));
		assert_int_equal(file_write(dirfd_, "f", data, size, 0600, NULL), 0);
		assert_int_equal(file_read(dirfd_, "f", &out, &err), size > 20000 ? -EFBIG : 0);
		assert_int_equal(out.len, MIN(size, (size_t)20000));
	}
	assert_non_null(strstr(err_text(&err), "f: more than 20000 bytes"));
}

static void an_endless_file_stops_at_the_ceiling(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(70000);

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/dev/zero", &out, NULL), -EFBIG);
	assert_int_equal(out.len, 70000);
}

static void errors_name_the_file_and_the_reason(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(100);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(file_read(dirfd_, "none", &out, &err), -ENOENT);
	assert_string_equal(err_text(&err), "open none: No such file or directory");
	assert_int_equal(file_read(AT_FDCWD, "/", &out, &err), -EISDIR);
	assert_string_equal(err_text(&err), "/: read: Is a directory");
	assert_int_equal(file_write(AT_FDCWD, "/", "x", 1, 0600, &err), -EISDIR);

	file_write(dirfd_, "f", "data", 4, 0600, NULL);
	fault.fail_with = EIO;
	assert_int_equal(file_read(dirfd_, "f", &out, &err), -EIO);
	assert_string_equal(err_text(&err), "f: read: Input/output error");
}

static void a_full_disk_is_reported_wherever_it_shows(void **state)
{
	struct err err = { 0 };

	(void)state;
	for (int n = 0; n < 5; n++) { /* four writes, then fsync */
		memset(&fault, 0, sizeof(fault));
		fault.most = 2;
		fault.fail_after = n;
		fault.fail_with = ENOSPC;
		assert_int_equal(file_write(dirfd_, "f", "12345678", 8, 0600, &err), -ENOSPC);
		assert_non_null(strstr(err_text(&err), "No space left on device"));
	}
}

static void a_write_without_progress_is_an_error_and_no_endless_loop(void **state)
{
	(void)state;
	fault.fail_with = -1;
	assert_int_equal(file_write(dirfd_, "f", "x", 1, 0600, NULL), -EIO);
}

static void directories_are_made_with_all_that_is_missing_above(void **state)
{
	static const char *const below[] = { "a/b/c", "a/b/c", "a/b/c/", "a//b///d", "a" };
	char path[100];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, below[i]);
		assert_int_equal(dir_make_all(path, 0750, NULL), 0);
		assert_int_equal(stat(path, &st), 0);
		assert_true(S_ISDIR(st.st_mode));
	}
	assert_int_equal(dir_make_all("/", 0750, NULL), 0);
	assert_int_equal(dir_make_all(".", 0750, NULL), 0);
	unlinkat(dirfd_, "a/b/c", AT_REMOVEDIR);
	unlinkat(dirfd_, "a/b/d", AT_REMOVEDIR);
	unlinkat(dirfd_, "a/b", AT_REMOVEDIR);
	unlinkat(dirfd_, "a", AT_REMOVEDIR);
}

static void a_foreign_file_is_read_through_no_link_anywhere(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = {
		{ "real/f", 0 }, { ".//real/./f", 0 }, { "real/f/", -ENOTDIR }, { "real/", -ENOENT }, { "", -ENOENT },
		{ "link/f", -ENOTDIR }, { "real/to_f", -ELOOP }, { "real/../real/f", -EINVAL }, { "real", -EPROTO },
	};
	char here[PATH_MAX], path[2 * PATH_MAX];
	int was = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(mkdirat(dirfd_, "real", 0700), 0);
	assert_int_equal(file_put(dirfd_, "real/f", "x", 1, 0600, NULL), 0);
	assert_int_equal(symlinkat("real", dirfd_, "link"), 0);
	assert_int_equal(symlinkat("f", dirfd_, "real/to_f"), 0);
	assert_int_equal(fchdir(dirfd_), 0);
	assert_non_null(getcwd(here, sizeof(here)));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(100);

		snprintf(path, sizeof(path), "/%s//%s", here, rows[i].path);
		int r = file_read_foreign(dirfd_, rows[i].path, &out, NULL),
		    whole = file_read_foreign(-1, path, &out, NULL);
		if (r != rows[i].code || whole != rows[i].code)
			fail_msg("%s: %d and %d, not %d", rows[i].path, r, whole, rows[i].code);
		assert_string_equal(strbuf_str(&out), r < 0 ? "" : "xx"); /* both have read it */
	}
	assert_int_equal(fchdir(was), 0);
	close(was);
	assert_true(tree_remove(dirfd_, "real") && tree_remove(dirfd_, "link"));
}

static void a_file_in_the_way_of_a_directory_is_an_error(void **state)
{
	char path[100], long_path[5000];

	(void)state;
	file_write(dirfd_, "f", "", 0, 0600, NULL);
	snprintf(path, sizeof(path), "%s/f", directory);
	assert_int_equal(dir_make_all(path, 0750, NULL), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/f/g", directory);
	assert_int_equal(dir_make_all(path, 0750, NULL), -ENOTDIR);
	assert_int_equal(dir_make_all("", 0750, NULL), -ENAMETOOLONG);
	memset(long_path, '/', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	assert_int_equal(dir_make_all(long_path, 0750, NULL), -ENAMETOOLONG);
}

#define with_faults(test) cmocka_unit_test_teardown(test, no_faults)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(reading_appends_to_what_is_there),
		with_faults(a_part_is_read_whole_unless_the_file_ends_before),
		with_faults(short_and_interrupted_calls_are_continued),
		cmocka_unit_test(a_file_as_large_as_the_ceiling_fits_and_one_byte_more_does_not),
		cmocka_unit_test(an_endless_file_stops_at_the_ceiling),
		with_faults(errors_name_the_file_and_the_reason),
		with_faults(a_full_disk_is_reported_wherever_it_shows),
		with_faults(a_write_without_progress_is_an_error_and_no_endless_loop),
		cmocka_unit_test(directories_are_made_with_all_that_is_missing_above),
		cmocka_unit_test(a_file_in_the_way_of_a_directory_is_an_error),
		cmocka_unit_test(a_foreign_file_is_read_through_no_link_anywhere),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
