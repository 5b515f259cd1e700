/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of watching how much a Ray node spills, on a directory tree like its container's. */
#include "sidecar/watch/spill_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define MIB (INT64_C(1) << 20)

static char root[64];
static struct spill_place place;
static struct errand errand = ERRAND_NONE;
static struct spill_watch w;
static struct ray_node node;
static int64_t now_s;

static void put(const char *name, const char *text)
{
	const struct timespec times[2] = { { .tv_sec = now_s }, { .tv_sec = now_s } };

	assert_int_equal(file_put(place.root_fd, name, text, strlen(text), 0644, NULL), 0);
	assert_int_equal(utimensat(place.root_fd, name, times, 0), 0);
}

static int setup(void **state)
{
	static const char *const directories[] = { "logs", "proc", "proc/1", "spill" };
	char path[128];
	(void)state;

	snprintf(root, sizeof(root), "/tmp/spill_watch_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, directories[i]);
		if (mkdir(path, 0755) < 0)
			return -1;
	}
	snprintf(path, sizeof(path), "%s/logs", root);
	now_s = 1000;
	w = SPILL_WATCH_NONE;
	node = (struct ray_node){ .raylet = 20, .spill_dir = "/spill" };
	place = (struct spill_place){ .errand = &errand,
				      .root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
				      .logs_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC),
				      .launcher = 1,
				      .limit = 8192 * MIB };
	put("proc/1/mountinfo",
	    "1 0 0:50 / / rw - overlay overlay rw\n2 1 8:1 / /spill rw - ext4 /dev/sda1 rw\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(place.root_fd);
	close(place.logs_fd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

/* Reads from a pipe to which nobody writes. */
static void hang(int, void *arg)
{
	const int *ends = arg;
	char byte;

	_exit(read(ends[0], &byte, 1) < 0);
}

/* Polls until the reading that begins now has come, if one does. */
static bool poll_at(int64_t at_s)
{
	bool warns = spill_watch_poll(&w, &place, &node, at_s * NS_PER_SEC);

	for (; errand.pid; usleep(1000))
		warns |= spill_watch_poll(&w, &place, &node, at_s * NS_PER_SEC);
	return warns;
}

/* Ten seconds later raylet writes this figure. */
static bool says(int64_t mib)
{
	char text[100];

	now_s += 10;
	snprintf(text, sizeof(text), "LocalObjectManager:\n- num bytes currently spilled: %lld\n",
		 (long long)(mib * MIB));
	put("logs/debug_state.txt", text);
	return poll_at(now_s);
}

static bool is_evidence(void)
{
	char text[300];

	return spill_watch_evidence(&w, text, sizeof(text));
}

static void growth_towards_the_limit_is_warned_of(void **state)
{
	int warnings = 0;
	(void)state;

	for (int i = 0; i < 8; i++)
		warnings += says(1024 + i * 200);
	/* If this machine's own disk is nearly full, the urgent warning comes at once. */
	assert_in_range(warnings, 1, 2);
	assert_int_equal(w.forecast.bytes, 2424 * MIB);
	assert_string_equal(w.where, "/spill");
	assert_true(w.disk.total > 0);
	assert_true(is_evidence());
}

static void little_that_does_not_grow_is_no_evidence(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		assert_false(says(100));
	assert_int_equal(w.forecast.bytes, 100 * MIB);
	assert_false(is_evidence());
}

static void a_network_filesystem_is_never_asked(void **state)
{
	(void)state;
	put("proc/1/mountinfo",
	    "1 0 0:50 / / rw - overlay overlay rw\n2 1 0:9 / /spill rw - nfs4 server:/x rw\n");
	for (int i = 0; i < 5; i++)
		says(1024 + i * 200);
	assert_int_equal(w.disk.total, 0);
	assert_string_equal(w.point, "");
	assert_int_equal(w.forecast.bound, SPILL_LIMIT);
}

static void without_a_directory_or_raylet_nothing_is_watched(void **state)
{
	(void)state;
	node.spill_dir[0] = '\0';
	assert_false(says(1024));
	assert_int_equal(w.forecast.bytes, -1);
	node.raylet = 0;
	assert_false(says(1024));
	place.logs_fd = -1;
	assert_false(poll_at(now_s));
	assert_false(is_evidence());
}

static void logs_on_the_disk_of_the_objects_are_counted_with_them(void **state)
{
	char text[300];
	struct stat st;
	int fd;
	(void)state;

	fd = openat(place.logs_fd, "worker-a-1-2.out", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_return_code(fallocate(fd, 0, 0, 100 * MIB), errno);
	assert_return_code(fstat(fd, &st), errno);
	close(fd);
	says(0);
	assert_int_equal(w.forecast.bytes, 0);
	assert_in_range(w.disk.logs, (int64_t)st.st_blocks * 512,
			(int64_t)st.st_blocks * 512 + 64 * 1024);
	assert_non_null(strstr(spill_describe(&w.forecast, &w.disk, w.where, text, sizeof(text)),
			       "Ray's logs take up 100."));
	/* They are the half of a small limit, and were filled too fast for a forecast. */
	assert_false(is_evidence());
	place.limit = 180 * MIB;
	says(0);
	assert_int_equal(w.forecast.left_ns, -1);
	assert_true(is_evidence());
	place.limit = 8192 * MIB;
	/* Another disk. */
	put("proc/1/mountinfo",
	    "1 0 0:50 / / rw - overlay overlay rw\n2 1 0:9 / /proc rw - nfs4 server:/x rw\n");
	snprintf(node.spill_dir, sizeof(node.spill_dir), "/proc/spill");
	node.raylet = 99;
	says(0);
	assert_int_equal(w.disk.logs, 0);
}

static void a_state_that_raylet_did_not_write_anew_is_no_reading(void **state)
{
	(void)state;
	says(1024);
	for (int i = 0; i < 5; i++)
		assert_false(poll_at(now_s + i * 10 + 10));
	assert_int_equal(w.spill.objects.n, 1);
}

/* The caller takes samples. */
static void a_disk_that_does_not_answer_is_not_waited_for(void **state)
{
	int ends[2];
	(void)state;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(errand_start(&errand, hang, ends, NULL), 0);
	assert_false(spill_watch_poll(&w, &place, &node, now_s * NS_PER_SEC));
	assert_true(errand_busy(&errand));
	errand_cancel(&errand);
	close(ends[0]);
	close(ends[1]);
	says(1024);
	assert_int_equal(w.spill.objects.n, 1);
}

static void another_raylet_begins_anew(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		says(1024);
	node.raylet = 99;
	says(10);
	assert_int_equal(w.spill.objects.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(growth_towards_the_limit_is_warned_of, setup, teardown),
		cmocka_unit_test_setup_teardown(little_that_does_not_grow_is_no_evidence, setup, teardown),
		cmocka_unit_test_setup_teardown(a_network_filesystem_is_never_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_directory_or_raylet_nothing_is_watched, setup, teardown),
		cmocka_unit_test_setup_teardown(logs_on_the_disk_of_the_objects_are_counted_with_them, setup, teardown),
		cmocka_unit_test_setup_teardown(a_state_that_raylet_did_not_write_anew_is_no_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(a_disk_that_does_not_answer_is_not_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(another_raylet_begins_anew, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
