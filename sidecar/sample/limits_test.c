/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of limits other than the memory limit. */
#include "sidecar/sample/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/strbuf.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

/* It needs a root of its own, with the mounts that /proc shows. The machine's own is one. */
/*
 * The mounts of a pod: 40 is its root, 42 its emptyDir, 41 may be the node's /dev/shm, 43 is of the
 * node's /run, 46 is cut.
 */
static void a_mount_may_be_shared_unless_it_is_the_pods_own(void **state)
{
	static const char mountinfo[] =
		"40 1 0:50 / / rw - overlay overlay rw\n41 40 0:51 / /dev/shm rw - tmpfs shm rw\n"
		"42 40 8:1 /var/lib/kubelet/pods/9/volumes/kubernetes.io~empty-dir/work /work rw - ext4 /dev/sda1 rw\n"
		"43 40 0:24 /ray /scratch rw - tmpfs tmpfs rw\n44 40 8:1 /data/kubernetes.io /host rw - ext4 /dev/sda1 rw\n45 40 0:60 / /home rw - nfs4 server:/home rw\n46 x\n";
	(void)state;

	for (long id = 39; id <= 460; id++)
		assert_int_equal(limits_mount_may_be_shared(mountinfo, id), id != 40 && id != 42);
	assert_true(limits_mount_may_be_shared("", 0));
}

static void what_files_in_memory_hold_is_summed(void **state)
{
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	char path[] = "/dev/shm/limits_test.XXXXXX";
	static const char block[65536];
	struct limits before, after;
	struct disk shm;
	(void)state;

	fd = mkstemp(path);
	if (fd < 0 || !limits_stat_disk(root_fd, "/dev/shm", &shm) || !shm.tmpfs)
		skip();
	limits_read(root_fd, getpid(), NULL, &before);
	for (int i = 0; i < 256; i++)
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	limits_read(root_fd, getpid(), NULL, &after);
	unlink(path);
	close(fd);
	close(root_fd);
	assert_in_range(after.tmpfs_used - before.tmpfs_used, 8 * MIB, 64 * MIB);
}

static void the_periods_of_a_cpu_limit_are_read_on_v1_and_v2(void **state)
{
	static const struct {
		const char *text;
		int64_t periods, throttled;
	} rows[] = {
		{ "usage_usec 9\nuser_usec 5\nnr_periods 1200\nnr_throttled 900\nthrottled_usec 7\n", 1200, 900 },
		{ "nr_periods 12\nnr_throttled 3\nthrottled_time 88\n", 12, 3 },
		{ "usage_usec 9\nxnr_periods 4\nnr_throttled_ 5\n", 0, 0 },
		{ "nr_periods -4\nnr_throttled x\n", 0, 0 },
		{ "nr_periods", 0, 0 },
		{ "", 0, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(limits_parse_periods(rows[i].text), rows[i].periods);
		assert_int_equal(limits_parse_throttled(rows[i].text), rows[i].throttled);
	}
}

static void a_disk_is_full_when_nothing_fits(void **state)
{
	static const struct {
		struct disk d;
		bool full;
	} rows[] = {
		{ { "/", 100 * GIB, 50 * GIB, 1000, 500, false, 0 }, false },
		{ { "/", 100 * GIB, 0, 1000, 500, false, 0 }, true },
		{ { "/", 100 * GIB, 15 * MIB, 1000, 500, false, 0 },
		  true }, /* one ten-thousandth */
		{ { "/", 100 * GIB, 16 * MIB, 1000, 500, false, 0 }, false },
		{ { "/", 100 * GIB, 50 * GIB, 1000, 0, false, 0 }, true },
		{ { "/", 100 * GIB, 50 * GIB, 0, 0, false, 0 },
		  false }, /* btrfs does not report inodes */
		{ { "/dev/shm", MIB, 0, 0, 0, false, 0 }, true },
		{ { "/dev/shm", MIB, 8 * KIB, 0, 0, false, 0 }, false },
		{ { "/dev/shm", 4 * KIB, 4 * KIB, 0, 0, false, 0 }, false },
		{ { "", 100 * GIB, 0, 0, 0, false, 0 }, false },
		{ { "/", 0, 0, 0, 0, false, 0 }, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (disk_is_full(&rows[i].d) != rows[i].full)
			fail_msg("row %d", (int)i);
}

/* The mountinfo of a container of containerd. */
static const char mountinfo[] =
	"1 0 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/a\n"
	"2 1 0:51 / /proc rw,nosuid - proc proc rw\n"
	"3 1 0:52 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k\n"
	"4 1 0:53 / /sys ro,nosuid - sysfs sysfs ro\n"
	"5 4 0:29 /x /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	"6 1 8:1 /var/lib/kubelet/pods/a/volumes/data /data\\040dir rw shared:1 - ext4 /dev/sda1 rw\n"
	"7 1 8:1 /var/lib/kubelet/pods/a/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
	"8 1 0:54 / /dev/shm rw - tmpfs shm rw,size=65536k\n"
	"9 1 0:55 / /var/run/secrets/kubernetes.io ro - tmpfs tmpfs rw\n"
	"10 1 0:56 / /nfs rw - nfs4 server:/x rw\n"
	"11 1 0:57 / /home/fuse rw - fuse.sshfs x rw\n"
	"12 1 0:58 / /afterglow/run rw - tmpfs tmpfs rw\n"
	"13 2 0:59 / /proc/kcore rw - tmpfs tmpfs rw\n"
	"14 1 0:60 / /processed rw - xfs /dev/b rw\n"
	"garbage\n"
	"15 1 0:61 / /cut rw";

static void note(const char *point, void *arg)
{
	char *all = arg;

	snprintf(all + strlen(all), 512 - strlen(all), "%s;", point);
}

static void local_filesystems_of_the_container_are_looked_at(void **state)
{
	char all[512] = "";
	(void)state;

	limits_each_disk(mountinfo, note, all);
	assert_string_equal(all, "/;/dev;/data dir;/dev/shm;/processed;");
	all[0] = '\0';
	limits_each_disk("", note, all);
	assert_string_equal(all, "");
}

static void count(const char *point, void *arg)
{
	(void)point;
	++*(int *)arg;
}

static void there_may_be_very_many_of_them(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	int n = 0;
	(void)state;

	for (int i = 0; i < 10000; i++)
		strbuf_addf(&text, "%d 0 0:%d / /m%d rw - tmpfs tmpfs rw\n", i, i, i);
	limits_each_disk(strbuf_str(&text), count, &n);
	assert_in_range(n, 100, 1000);
}

static void refusals_are_counted(void **state)
{
	(void)state;
	assert_int_equal(limits_parse_refused("max 12\n"), 12);
	assert_int_equal(limits_parse_refused("max 12\nother 3\n"), 12);
	assert_int_equal(limits_parse_refused("max -3\n"), 0);
	assert_int_equal(limits_parse_refused("max"), 0);
	assert_int_equal(limits_parse_refused(""), 0);
}

static void a_root_gives_what_it_can(void **state)
{
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct limits l;
	(void)state;

	limits_read(root_fd, getpid(), NULL, &l);
	assert_true(l.fullest.point[0] == '/' && l.fullest.total > 0);
	assert_true(l.processes >= 0 && l.processes_max >= 0 && l.processes_refused >= 0);
	limits_read(root_fd, -1, NULL, &l);
	assert_string_equal(l.fullest.point, "");
	limits_read(-1, getpid(), NULL, &l);
	assert_string_equal(l.fullest.point, "");
	close(root_fd);
}

static void a_path_lies_below_the_nearest_mount_point(void **state)
{
	static const struct {
		const char *path, *point; /* NULL: there is no local filesystem */
	} rows[] = {
		{ "/tmp/ray/session_1", "/" },
		{ "/data dir/spill", "/data dir" },
		{ "/data dirt", "/" },
		{ "/nfs/spill", NULL },
		{ "/nfs", NULL },
		{ "/nfss", "/" },
		{ "/dev/shm/x", "/dev/shm" },
		{ "relative", "/" },
	};
	char point[64];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (limits_local_point(mountinfo, rows[i].path, point, sizeof(point)) !=
		    (rows[i].point != NULL))
			fail_msg("%s", rows[i].path);
		if (rows[i].point)
			assert_string_equal(point, rows[i].point);
	}
	assert_false(limits_local_point("", "/tmp", point, sizeof(point)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_lies_below_the_nearest_mount_point),
		cmocka_unit_test(a_mount_may_be_shared_unless_it_is_the_pods_own),
		cmocka_unit_test(what_files_in_memory_hold_is_summed),
		cmocka_unit_test(the_periods_of_a_cpu_limit_are_read_on_v1_and_v2),
		cmocka_unit_test(a_disk_is_full_when_nothing_fits),
		cmocka_unit_test(local_filesystems_of_the_container_are_looked_at),
		cmocka_unit_test(there_may_be_very_many_of_them),
		cmocka_unit_test(refusals_are_counted),
		cmocka_unit_test(a_root_gives_what_it_can),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
