/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the ring: which records survive, and which are refused. */
#include "sidecar/sample/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define FILE_NAME "a.ring"

/* A record that shows whether it is complete. */
struct record {
	uint64_t n;
	uint64_t copies[10];
};

static const struct ring_layout layout = {
	.version = 7,
	.n_series = 2,
	.series = { { 2, sizeof(struct record) }, { 5, sizeof(struct record) } },
};

static char directory[64];
static int dirfd_;

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/ring_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	dirfd_ = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(dirfd_, FILE_NAME, 0);
	close(dirfd_);
	return rmdir(directory);
}

static void add(struct ring *r, uint32_t series, uint64_t n)
{
	struct record record = { .n = n };

	for (size_t i = 0; i < ARRAY_SIZE(record.copies); i++)
		record.copies[i] = n * 0x9e3779b97f4a7c15u;
	ring_add(r, series, &record);
}

static bool whole(const struct record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(record->copies); i++)
		if (record->copies[i] != record->n * 0x9e3779b97f4a7c15u)
			return false;
	return true;
}

static void make_ring(struct ring *r, uint64_t n)
{
	unlinkat(dirfd_, FILE_NAME, 0);
	assert_int_equal(ring_create(r, dirfd_, FILE_NAME, &layout, NULL), 0);
	for (uint64_t i = 1; i <= n; i++) {
		add(r, 0, i);
		add(r, 1, i);
	}
}

/* Returns how many records can be read. All of them must be complete and in order. */
static size_t readable(const struct ring *r, uint32_t series)
{
	uint64_t last = 0;
	size_t found = 0;

	for (size_t i = 0; i < ring_count(r, series); i++) {
		const struct record *record = ring_at(r, series, i);

		if (!record)
			continue;
		assert_true(whole(record));
		assert_true(record->n > last);
		last = record->n;
		found++;
	}
	return found;
}

static void what_was_written_is_read_after_reopening_and_goes_on(void **state)
{
	struct ring r, again;
	(void)state;

	for (uint64_t n = 0; n <= 12; n++) {
		make_ring(&r, n);
		ring_close(&r);
		assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, NULL), 0);
		assert_int_equal(readable(&again, 0), MIN(n, 2u));
		assert_int_equal(readable(&again, 1), MIN(n, 5u));
		if (n)
			assert_int_equal(((const struct record *)ring_newest(&again, 1))->n, n);
		else
			assert_null(ring_newest(&again, 1));
		add(&again, 1, n + 1);
		assert_int_equal(((const struct record *)ring_newest(&again, 1))->n, n + 1);
		assert_int_equal(readable(&again, 1), MIN(n + 1, 5u));
		ring_close(&again);
		ring_close(&again);
	}
}

static void a_ring_in_memory_is_one_like_any_other(void **state)
{
	struct ring r;
	(void)state;

	assert_int_equal(ring_create_anonymous(&r, &layout, NULL), 0);
	for (uint64_t i = 1; i <= 100; i++)
		add(&r, 1, i);
	assert_int_equal(readable(&r, 1), 5);
	assert_null(ring_at(&r, 1, 5));
	assert_null(ring_newest(&r, 0));
	ring_close(&r);
}

static void a_changed_byte_anywhere_costs_one_record_at_most(void **state)
{
	struct strbuf file = STRBUF_INIT(1 << 20);
	struct ring r, again;
	size_t refused = 0;
	(void)state;

	make_ring(&r, 9);
	ring_close(&r);
	assert_int_equal(file_read(dirfd_, FILE_NAME, &file, NULL), 0);
	for (size_t i = 0; i < file.len; i++) {
		file.data[i] ^= (char)(1 + i % 255);
		assert_int_equal(file_put(dirfd_, FILE_NAME, file.data, file.len, 0600, NULL), 0);
		file.data[i] ^= (char)(1 + i % 255);
		if (ring_open(&again, dirfd_, FILE_NAME, &layout, NULL) < 0) {
			refused++;
			continue;
		}
		assert_true(readable(&again, 0) + readable(&again, 1) >= 6);
		ring_close(&again);
	}
	/* Only a damaged header makes the whole file invalid. */
	assert_true(refused > 8 && refused < 100);
	strbuf_release(&file);
}

static void a_record_torn_at_any_byte_is_passed_over(void **state)
{
	struct strbuf before = STRBUF_INIT(1 << 20), after = STRBUF_INIT(1 << 20);
	struct ring r, again;
	(void)state;

	make_ring(&r, 9);
	assert_int_equal(file_read(dirfd_, FILE_NAME, &before, NULL), 0);
	add(&r, 1, 10);
	ring_close(&r);
	assert_int_equal(file_read(dirfd_, FILE_NAME, &after, NULL), 0);
	/* The first bytes are new and the rest is old, and the reverse. */
	for (size_t cut = 0; cut <= before.len; cut++)
		for (int turn = 0; turn < 2; turn++) {
			struct strbuf *first = turn ? &before : &after,
				      *rest = turn ? &after : &before;
			int fd = openat(dirfd_, FILE_NAME, O_WRONLY | O_TRUNC | O_CLOEXEC);
			uint64_t newest;

			assert_int_equal(fd_write_all(fd, first->data, cut, NULL), 0);
			assert_int_equal(fd_write_all(fd, rest->data + cut, before.len - cut, NULL),
					 0);
			close(fd);
			assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, NULL), 0);
			assert_true(readable(&again, 1) >= 4);
			assert_int_equal(readable(&again, 0), 2);
			newest = ((const struct record *)ring_newest(&again, 1))->n;
			assert_true(newest == 9 || newest == 10);
			ring_close(&again);
		}
	strbuf_release(&before);
	strbuf_release(&after);
}

static void cut_file(size_t len)
{
	int fd = openat(dirfd_, FILE_NAME, O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	close(fd);
}

static void files_of_another_kind_are_refused(void **state)
{
	struct ring_layout newer = layout, larger = layout;
	struct ring r = { 0 }, again = { 0 };
	struct err err = { 0 };
	size_t len;
	(void)state;

	newer.version++;
	larger.series[1].slots++;
	make_ring(&r, 3);
	len = r.len;
	ring_close(&r);
	assert_int_equal(ring_create(&again, dirfd_, FILE_NAME, &layout, &err), -EEXIST);
	assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &newer, &err), -EPROTO);
	assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &larger, &err), -EPROTO);
	for (size_t shorter = 0; shorter < len; shorter += 13) {
		make_ring(&r, 3);
		ring_close(&r);
		cut_file(shorter);
		assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, &err), -EPROTO);
	}
	unlinkat(dirfd_, FILE_NAME, 0);
	assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, &err), -ENOENT);
	assert_int_equal(mkfifoat(dirfd_, FILE_NAME, 0600), 0);
	assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, &err), -EPROTO);
	unlinkat(dirfd_, FILE_NAME, 0);
	assert_int_equal(symlinkat("/etc/passwd", dirfd_, FILE_NAME), 0);
	assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, &err), -ELOOP);
	unlinkat(dirfd_, FILE_NAME, 0);
	assert_int_equal(mkdirat(dirfd_, FILE_NAME, 0700), 0);
	assert_true(ring_open(&again, dirfd_, FILE_NAME, &layout, &err) < 0);
	unlinkat(dirfd_, FILE_NAME, AT_REMOVEDIR);
	assert_null(again.map);
}

static void noise_behind_a_right_header_holds_no_record(void **state)
{
	struct strbuf file = STRBUF_INIT(1 << 20);
	unsigned int seed = 1;
	struct ring r, again;
	(void)state;

	make_ring(&r, 9);
	ring_close(&r);
	assert_int_equal(file_read(dirfd_, FILE_NAME, &file, NULL), 0);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 64; i < file.len; i++)
			file.data[i] = (char)(round % 4 ? rand_r(&seed) : -(round % 8 != 0));
		assert_int_equal(file_put(dirfd_, FILE_NAME, file.data, file.len, 0600, NULL), 0);
		if (ring_open(&again, dirfd_, FILE_NAME, &layout, NULL) < 0)
			continue;
		assert_int_equal(readable(&again, 0) + readable(&again, 1), 0);
		ring_close(&again);
	}
	strbuf_release(&file);
}

static void a_writer_killed_at_any_moment_loses_nothing_it_had_finished(void **state)
{
	_Atomic uint64_t *finished =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int seed = 42;
	(void)state;

	for (int round = 0; round < 200; round++) {
		struct ring r, again;
		const struct record *newest;
		pid_t writer;

		make_ring(&r, 0);
		*finished = 0;
		writer = fork();
		if (writer == 0)
			for (uint64_t n = 1;; n++) {
				add(&r, 1, n);
				*finished = n;
			}
		usleep((useconds_t)rand_r(&seed) % 3000);
		kill(writer, SIGKILL);
		waitpid(writer, NULL, 0);
		ring_close(&r);
		assert_int_equal(ring_open(&again, dirfd_, FILE_NAME, &layout, NULL), 0);
		newest = ring_newest(&again, 1);
		assert_true(newest ? newest->n == *finished || newest->n == *finished + 1 :
				     *finished == 0);
		assert_true(readable(&again, 1) >= MIN(*finished, 4u));
		ring_close(&again);
	}
	munmap(finished, 4096);
}

static void a_full_disk_is_noticed_before_anything_is_mapped(void **state)
{
	struct ring_layout big = layout;
	struct ring r = { 0 };
	struct err err = { 0 };
	int fd;
	(void)state;

	if (mount("ring_test", directory, "tmpfs", 0, "size=64k") < 0)
		skip();
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	big.series[1].slots = 5000;
	assert_int_equal(ring_create(&r, fd, FILE_NAME, &big, &err), -ENOSPC);
	assert_int_equal(faccessat(fd, FILE_NAME, F_OK, 0), -1);
	assert_int_equal(ring_create(&r, fd, FILE_NAME, &layout, &err), 0);
	ring_close(&r);
	close(fd);
	assert_int_equal(umount(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_after_reopening_and_goes_on),
		cmocka_unit_test(a_ring_in_memory_is_one_like_any_other),
		cmocka_unit_test(a_changed_byte_anywhere_costs_one_record_at_most),
		cmocka_unit_test(a_record_torn_at_any_byte_is_passed_over),
		cmocka_unit_test(files_of_another_kind_are_refused),
		cmocka_unit_test(noise_behind_a_right_header_holds_no_record),
		cmocka_unit_test(a_writer_killed_at_any_moment_loses_nothing_it_had_finished),
		cmocka_unit_test(a_full_disk_is_noticed_before_anything_is_mapped),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
