/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kernel log, by syslog(2) or by /dev/kmsg. */
#include "sidecar/kernel/kmsg_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#define SYSLOG_ACTION_READ_ALL 3
#define RECORD_MAX 8192 /* the largest buffer that the kernel needs for one read of /dev/kmsg */
/*
 * The number of records is limited, because somebody may write as fast as we read. A log of 16 MiB
 * has about this many.
 */
#define DEVICE_READS_MAX 200000
#define NEWEST_MAX 4096

void kmsg_log_release(struct kmsg_log *log)
{
	free(TAKE_PTR(log->entries));
	free(TAKE_PTR(log->text));
	log->n = log->text_len = 0;
}

static void drop_oldest_half(struct kmsg_log *log)
{
	size_t gone = (log->n + 1) / 2;
	uint32_t bytes = gone < log->n ? log->entries[gone].offset : (uint32_t)log->text_len;

	memmove(log->text, log->text + bytes, log->text_len - bytes);
	memmove(log->entries, log->entries + gone, (log->n - gone) * sizeof(*log->entries));
	log->n -= gone;
	log->text_len -= bytes;
	for (size_t i = 0; i < log->n; i++)
		log->entries[i].offset -= bytes;
}

int kmsg_log_add(struct kmsg_log *log, const struct kmsg_record *r)
{
	size_t len = MIN(r->len, (size_t)RECORD_MAX);

	if (!log->entries)
		log->entries = malloc(KMSG_LOG_RECORDS_MAX * sizeof(*log->entries));
	if (!log->text)
		log->text = malloc(KMSG_LOG_TEXT_MAX);
	if (!log->entries || !log->text)
		return -ENOMEM;
	while (log->n == KMSG_LOG_RECORDS_MAX || log->text_len + len > KMSG_LOG_TEXT_MAX)
		drop_oldest_half(log);
	memcpy(log->text + log->text_len, r->text, len);
	if (r->continues && log->n > 0 && log->entries[log->n - 1].priority == r->priority &&
	    log->entries[log->n - 1].len + len <= RECORD_MAX) {
		log->entries[log->n - 1].len += (uint32_t)len;
		log->entries[log->n - 1].is_rest = false;
	} else
		log->entries[log->n++] = (struct kmsg_entry){
			.priority = r->priority,
			.time_us = r->time_us,
			.offset = (uint32_t)log->text_len,
			.len = (uint32_t)len,
			.is_rest = r->is_rest,
		};
	log->text_len += len;
	return 0;
}

static int kmsg_syslog_read(struct kmsg_log *log, struct err *err)
{
	_cleanup_free_ char *buf = malloc(KMSG_LOG_TEXT_MAX);
	struct kmsg_record r;
	const char *p = buf;

	if (!buf)
		return err_set(err, ENOMEM, "kernel log");
	/* syslog(2) gives whole records, the newest that fit. */
	int n = klogctl(SYSLOG_ACTION_READ_ALL, buf, KMSG_LOG_TEXT_MAX);
	if (n < 0)
		return err_set(err, errno, "syslog(2)");
	log->next_seq = -1;
	while (kmsg_next_syslog(&p, buf + n, &r))
		if (kmsg_log_add(log, &r) < 0)
			return err_set(err, ENOMEM, "kernel log");
	return 0;
}

int kmsg_read_device(int fd, struct kmsg_log *log, struct err *err)
{
	char buf[RECORD_MAX];
	struct kmsg_record r;

	log->next_seq = -1;
	for (int i = 0; i < DEVICE_READS_MAX; i++) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n == 0 || (n < 0 && errno == EAGAIN))
			return 0;
		/*
		 * EPIPE: the next record was overwritten, and the one after it comes next. EINVAL:
		 * the record is longer than any should be.
		 */
		if (n < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL))
			continue;
		if (n < 0)
			return err_set(err, errno, "read /dev/kmsg");
		if (!kmsg_parse_device(buf, (size_t)n, &r))
			continue;
		if (log->next_seq >= 0 && r.seq > log->next_seq)
			log->lost += r.seq - log->next_seq;
		log->next_seq = r.seq < INT64_MAX ? r.seq + 1 : r.seq;
		if (kmsg_log_add(log, &r) < 0)
			return err_set(err, ENOMEM, "kernel log");
	}
	return 0;
}

int kmsg_read(struct kmsg_log *ret_log, struct err *err)
{
	_cleanup_close_ int fd = -1;

	*ret_log = (struct kmsg_log){ .next_seq = -1 };
	int rc = kmsg_syslog_read(ret_log, err);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	/* If there is no device, the error of syslog(2) is the more useful one. */
	if (fd < 0)
		return rc;
	return kmsg_read_device(fd, ret_log, err);
}

static int64_t newest_of_device(void)
{
	_cleanup_close_ int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };

	if (fd < 0 || kmsg_read_device(fd, &log, NULL) < 0 || log.n == 0)
		return -1;
	return log.entries[log.n - 1].time_us;
}

int64_t kmsg_newest_us(void)
{
	char buf[NEWEST_MAX];
	int n = klogctl(SYSLOG_ACTION_READ_ALL, buf, sizeof(buf));
	const char *p = buf;
	struct kmsg_record r;
	int64_t newest = -1;

	if (n < 0)
		return newest_of_device();
	while (kmsg_next_syslog(&p, buf + n, &r))
		newest = MAX(newest, r.time_us);
	return newest;
}
