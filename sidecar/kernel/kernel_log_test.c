/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the message when the kernel log cannot be read, and of the end of the syslog file. */
#include "sidecar/kernel/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"

#define TAIL (64 * 1024)

static void the_permission_that_lacks_is_named(void **state)
{
	static const struct {
		int error;
		bool in_pod, restricted;
		const char *says;
	} rows[] = {
		{ 0, true, false, "it is off" },
		{ 0, false, false, "--kernel-log auto" },
		{ EPERM, true, true, "CAP_SYSLOG" },
		{ EPERM, true, true, "recording.kernelLog.enabled" },
		{ EPERM, true, false, "seccomp" },
		{ EPERM, false, true, "root or CAP_SYSLOG" },
		{ EACCES, false, true, "dmesg_restrict is 1" },
		{ EPERM, false, false, "seccomp" },
		{ ENOSYS, true, true, "CONFIG_PRINTK" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_non_null(
			strstr(kernel_log_needs(rows[i].error, rows[i].in_pod, rows[i].restricted),
			       rows[i].says));
}

static void what_is_off_is_not_read(void **state)
{
	const struct kernel_log_options off = { .off = true };
	struct kernel_log k = { 0 };
	struct kernel_evidence e;
	(void)state;

	kernel_log_open(&k, -1, 1, 2, now_boottime_ns(), "uid", &off);
	kernel_log_look(&k, now_boottime_ns(), NULL, 0, &e);
	assert_non_null(strstr(e.needs, "it is off"));
	assert_false(e.oom);
	assert_null(k.excerpt);
	kernel_log_close(&k);
}

static int64_t kernel_now_us(void)
{
	struct timespec monotonic, raw;

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	return MIN(monotonic.tv_sec * NS_PER_SEC + monotonic.tv_nsec,
		   raw.tv_sec * NS_PER_SEC + raw.tv_nsec) /
	       1000;
}

static void add_crash(struct kmsg_log *log, int pid)
{
	char text[80];
	struct kmsg_record r = { .priority = 6, .time_us = kernel_now_us(), .text = text };

	snprintf(text, sizeof(text),
		 "python3[%d]: segfault at 0 ip 0000000000000001 sp 0000000000000002 error 4", pid);
	r.len = strlen(text);
	assert_int_equal(kmsg_log_add(log, &r), 0);
}

static void a_line_of_the_nodes_counts_for_one_death(void **state)
{
	const struct kernel_log_options off = { .off = true };
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct kernel_log k = { 0 };
	struct kernel_evidence e;
	(void)state;

	kernel_log_open(&k, -1, 1, 2, now_boottime_ns(), "uid", &off);
	k.node = &log;
	add_crash(&log, 40);
	kernel_log_look(&k, now_boottime_ns(), NULL, 0, &e);
	assert_non_null(strstr(e.crash, "python3[40]"));
	kernel_log_look(&k, now_boottime_ns(), NULL, 0, &e);
	assert_string_equal(e.crash, "");
	usleep(1000);
	add_crash(&log, 41);
	kernel_log_look(&k, now_boottime_ns(), NULL, 0, &e);
	assert_non_null(strstr(e.crash, "python3[41]"));
	kernel_log_close(&k);
}

static void a_look_finds_the_log_or_names_what_lacks(void **state)
{
	const struct kernel_log_options options = { 0 };
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct kernel_log k = { 0 };
	struct kernel_evidence e;
	(void)state;

	kernel_log_open(&k, root, getpid(), getpid(), now_boottime_ns(), NULL, &options);
	kernel_log_look(&k, now_boottime_ns(), NULL, 0, &e);
	assert_true(e.needs ? strlen(e.needs) > 0 : true);
	/* No process of this container has died. */
	assert_false(e.oom && e.by_cgroup && e.age_ns < NS_PER_SEC);
	kernel_log_close(&k);
}

static void the_tail_of_a_syslog_file_is_whole_lines(void **state)
{
	char directory[] = "/tmp/afterglow-test-XXXXXX", path[64];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20), tail = STRBUF_INIT(64 * 1024);
	(void)state;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/messages", directory);
	assert_int_equal(kernel_log_syslog_tail(directory, TAIL, &tail, NULL), -ENOENT);
	for (int i = 0; i < 10000; i++)
		strbuf_addf(&text, "line %d of the node\n", i);
	assert_int_equal(file_write(AT_FDCWD, path, strbuf_str(&text), text.len, 0600, NULL), 0);
	assert_int_equal(kernel_log_syslog_tail(directory, TAIL, &tail, NULL), 0);
	assert_true(tail.len > 60 * 1024 && tail.len <= 64 * 1024);
	assert_memory_equal(strbuf_str(&tail), "line ", 5);
	assert_non_null(strstr(strbuf_str(&tail), "line 9999 of"));
	/* A short one is kept from its first byte. */
	assert_int_equal(file_write(AT_FDCWD, path, "one\ntwo", 7, 0600, NULL), 0);
	strbuf_reset(&tail);
	assert_int_equal(kernel_log_syslog_tail(path, TAIL, &tail, NULL), 0);
	assert_string_equal(strbuf_str(&tail), "one\ntwo");
	unlink(path);
	/* A FIFO is not read, and does not block. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kernel_log_syslog_tail(path, TAIL, &tail, NULL), -EINVAL);
	unlink(path);
	rmdir(directory);
	assert_int_equal(kernel_log_syslog_tail("/dev/zero", TAIL, &tail, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_permission_that_lacks_is_named),
		cmocka_unit_test(what_is_off_is_not_read),
		cmocka_unit_test(a_line_of_the_nodes_counts_for_one_death),
		cmocka_unit_test(a_look_finds_the_log_or_names_what_lacks),
		cmocka_unit_test(the_tail_of_a_syslog_file_is_whole_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
