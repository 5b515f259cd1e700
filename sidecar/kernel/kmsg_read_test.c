/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading the kernel log. The test decides what the device and the system call return. */
#include "sidecar/kernel/kmsg_read.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include <cmocka.h>

/* What the next reads of the device return: a record, or an errno. */
struct step {
	const char *record;
	int error;
};

static const struct step *script; /* NULL: the real device is read */
static size_t step, n_steps;
static const char *syslog_text; /* NULL: syslog(2) fails with syslog_errno */
static int syslog_errno;

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
int __wrap_klogctl(int type, char *buf, int size);

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	const struct step *s;

	if (!script)
		return __real_read(fd, buf, size);
	s = step < n_steps ? &script[step++] : &(const struct step){ NULL, EAGAIN };
	if (!s->record) {
		errno = s->error;
		return -1;
	}
	assert_true(strlen(s->record) <= size);
	memcpy(buf, s->record, strlen(s->record));
	return (ssize_t)strlen(s->record);
}

int __wrap_klogctl(int type, char *buf, int size)
{
	size_t len;

	assert_int_equal(type, 3);
	if (!syslog_text) {
		errno = syslog_errno;
		return -1;
	}
	len = MIN(strlen(syslog_text), (size_t)size);
	memcpy(buf, syslog_text + strlen(syslog_text) - len, len);
	return (int)len;
}

static void play(const struct step *steps, size_t n)
{
	script = steps;
	n_steps = n;
	step = 0;
}

static void assert_entry(const struct kmsg_log *log, size_t i, const char *text)
{
	assert_true(i < log->n);
	assert_int_equal(log->entries[i].len, strlen(text));
	assert_memory_equal(kmsg_text(log, i), text, strlen(text));
}

static void the_device_is_read_to_its_end(void **state)
{
	static const struct step steps[] = {
		{ "6,10,1000,-;one\n", 0 },
		{ NULL, EINTR },
		{ "6,11,2000,-;two\n SUBSYSTEM=usb\n", 0 },
		{ "rubbish", 0 },
		{ "6,12,3000,-;three\n", 0 },
	};
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	play(steps, ARRAY_SIZE(steps));
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	script = NULL;
	assert_int_equal(log.n, 3);
	assert_int_equal(log.lost, 0);
	assert_int_equal(log.next_seq, 13);
	assert_entry(&log, 0, "one");
	assert_entry(&log, 1, "two");
	assert_entry(&log, 2, "three");
	assert_int_equal(log.entries[2].time_us, 3000);
}

static void what_was_overwritten_is_counted(void **state)
{
	static const struct step steps[] = {
		{ "6,10,1000,-;one\n", 0 },
		{ NULL, EPIPE },
		{ "6,15,2000,-;two\n", 0 },
		{ "6,14,2000,-;back in time\n", 0 },
		{ "6,9223372036854775807,2000,-;the last of all\n", 0 },
	};
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	play(steps, 3);
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	assert_int_equal(log.n, 2);
	assert_int_equal(log.lost, 4);
	kmsg_log_release(&log);
	play(steps, ARRAY_SIZE(steps));
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	script = NULL;
	assert_int_equal(log.n, 4);
}

static void a_device_that_fails_says_so(void **state)
{
	static const struct step steps[] = { { "6,10,1000,-;one\n", 0 }, { NULL, EIO } };
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	play(steps, ARRAY_SIZE(steps));
	assert_int_equal(kmsg_read_device(3, &log, NULL), -EIO);
	script = NULL;
}

static void a_device_without_end_is_left(void **state)
{
	static const struct step always = { NULL, EPIPE };
	struct step *steps = calloc(300000, sizeof(*steps));
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	assert_non_null(steps);
	for (size_t i = 0; i < 300000; i++)
		steps[i] = always;
	play(steps, 300000);
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	script = NULL;
	assert_true(step < 300000);
	free(steps);
}

static void fragments_of_old_kernels_become_a_line(void **state)
{
	static const struct step steps[] = {
		{ "6,10,1000,c;Task in /a\n", 0 },
		{ "6,11,1000,+; killed as\n", 0 },
		{ "6,12,1000,+; a result of limit of /b\n", 0 },
		{ "12,13,1000,+;from user space\n", 0 },
	};
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	play(steps, ARRAY_SIZE(steps));
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	script = NULL;
	assert_int_equal(log.n, 2);
	assert_entry(&log, 0, "Task in /a killed as a result of limit of /b");
	assert_entry(&log, 1, "from user space");
	assert_true(kmsg_is_believed(&log.entries[0]));
	assert_false(kmsg_is_believed(&log.entries[1]));
}

static void the_rest_of_a_broken_line_is_no_line(void **state)
{
	/* Since 4.9. The name of a cpuset begins the rest. */
	static const struct step steps[] = {
		{ "6,10,1000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=\n", 0 },
		{ "6,11,1000,-;another processor's line\n", 0 },
		{ "6,12,1001,c;Out of memory: Killed process 5 (x) total-vm:1kB,mems_allowed=0\n",
		  0 },
	};
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	play(steps, ARRAY_SIZE(steps));
	assert_int_equal(kmsg_read_device(3, &log, NULL), 0);
	script = NULL;
	assert_int_equal(log.n, 3);
	assert_true(kmsg_is_believed(&log.entries[1]));
	assert_false(kmsg_is_believed(&log.entries[2]));
}

static void syslog_comes_first(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	syslog_text = "<6>[    1.000000] one\n<3>[    2.500000] two\n";
	assert_int_equal(kmsg_read(&log, NULL), 0);
	assert_int_equal(log.n, 2);
	assert_entry(&log, 1, "two");
	assert_int_equal(kmsg_newest_us(), 2500000);
	syslog_text = NULL;
}

static void an_empty_log_is_no_error(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	(void)state;

	syslog_text = "";
	assert_int_equal(kmsg_read(&log, NULL), 0);
	assert_int_equal(log.n, 0);
	assert_int_equal(kmsg_newest_us(), -1);
	syslog_text = NULL;
}

static void of_a_long_log_the_newest_records_stay(void **state)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	char text[8192];
	struct kmsg_record r = { .priority = 6, .text = text };
	(void)state;

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 20000; i++) {
		r.time_us = i;
		r.len = (size_t)(i * 37 % 300);
		assert_int_equal(kmsg_log_add(&log, &r), 0);
		assert_true(log.n <= KMSG_LOG_RECORDS_MAX && log.text_len <= KMSG_LOG_TEXT_MAX);
	}
	assert_true(log.n > 500);
	for (size_t i = 0; i < log.n; i++) {
		int64_t number = log.entries[i].time_us;

		assert_int_equal(number, 20000 - (int64_t)(log.n - i));
		assert_int_equal(log.entries[i].len, number * 37 % 300);
		assert_true(log.entries[i].offset + log.entries[i].len <= log.text_len);
	}
	/* The largest records, and then one that exceeds our limit. */
	r.len = sizeof(text);
	for (int i = 0; i < 100; i++)
		assert_int_equal(kmsg_log_add(&log, &r), 0);
	assert_true(log.text_len <= KMSG_LOG_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_is_read_to_its_end),
		cmocka_unit_test(what_was_overwritten_is_counted),
		cmocka_unit_test(a_device_that_fails_says_so),
		cmocka_unit_test(a_device_without_end_is_left),
		cmocka_unit_test(fragments_of_old_kernels_become_a_line),
		cmocka_unit_test(the_rest_of_a_broken_line_is_no_line),
		cmocka_unit_test(syslog_comes_first),
		cmocka_unit_test(an_empty_log_is_no_error),
		cmocka_unit_test(of_a_long_log_the_newest_records_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
