/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the tail of the kernel log by syslog(2) or /dev/kmsg, whichever is permitted.
 *
 * syslog(2) comes first: it needs no device, which containers do not have, and
 * one call gives the tail. Both ask for CAP_SYSLOG where kernel.dmesg_restrict
 * is 1; the container runtimes' seccomp profiles refuse syslog(2) without that
 * capability on any node. Reading removes nothing from the log.
 */
#pragma once

#include "lib/err.h"
#include "sidecar/kernel/kmsg_parse.h"

/* If the log is longer, its older part is left out. */
#define KMSG_LOG_TEXT_MAX (256 * 1024)
#define KMSG_LOG_RECORDS_MAX 4096

/* offset and len: in the log's text. */
struct kmsg_entry {
	int priority;
	int64_t time_us; /* -1: unknown */
	uint32_t offset, len;
	bool is_rest; /* as in struct kmsg_record */
};

/* Returns whether the kernel wrote the entry, and it is a line from its beginning. */
static inline bool kmsg_is_believed(const struct kmsg_entry *e)
{
	return kmsg_from_kernel(e->priority) && !e->is_rest;
}

struct kmsg_log {
	struct kmsg_entry *entries; /* oldest first */
	char *text;
	size_t n, text_len;
	int64_t next_seq; /* behind the last record, -1: unknown */
	int64_t lost; /* records that were overwritten while we read */
};

void kmsg_log_release(struct kmsg_log *log);
#define _cleanup_kmsg_log_ _cleanup_(kmsg_log_release)

/* Appends a record; if there is no room, removes the oldest half first. -ENOMEM. */
int kmsg_log_add(struct kmsg_log *log, const struct kmsg_record *r);

static inline const char *kmsg_text(const struct kmsg_log *log, size_t i)
{
	return log->text + log->entries[i].offset;
}

/*
 * Reads the tail of the log. -EPERM or -EACCES: neither way is permitted; -ENOSYS or
 * -ENOENT: there is no log. ret_log must be released in any case.
 */
int kmsg_read(struct kmsg_log *ret_log, struct err *err);

/* Reads the log from /dev/kmsg only. fd: opened with O_NONBLOCK. */
int kmsg_read_device(int fd, struct kmsg_log *log, struct err *err);

/* The time of the newest record by the kernel's clock; -1: it cannot be read. */
int64_t kmsg_newest_us(void);
