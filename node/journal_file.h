/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a file of systemd's journal and returns its entries as syslog lines. The format is
 * documented and stable (systemd.io/JOURNAL_FILE_FORMAT); libsystemd reads it too, but has no
 * static library. The file is read by pread, so a file that shrinks only causes short reads, and
 * every offset in it is checked. Messages that journald has compressed (more than 512 bytes) are
 * left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define JOURNAL_LINE_MAX 2048 /* bytes; longer messages are cut */

struct journal_file {
	int fd; /* the caller's */
	bool compact;
	uint64_t at; /* the offset of the next object to read */
	uint64_t tail; /* the offset of the last object, by the header */
	int64_t written_us; /* Unix time of the last entry */
	int64_t after_us; /* the caller sets it: only entries that were written later are lines */
};

enum journal_step {
	JOURNAL_LINE, /* an entry of the kernel, or of a program that runs as root */
	JOURNAL_OTHER, /* an object that is not an entry, or an entry of another program */
	JOURNAL_COMPRESSED, /* it would be JOURNAL_LINE, but journald has compressed its message */
	JOURNAL_END, /* there is nothing more now, or the last entry is still being written */
};

/*
 * Opens the file at its first entry or at its end. -EPROTO: it is not a journal file; -ENOTSUP: its
 * format is newer, and err names the feature. fd stays the caller's and must outlive it.
 */
int journal_file_open(struct journal_file *ret_file, int fd, bool from_end, struct err *err);

/*
 * Reads the header again, to find new entries. False: it cannot be read, or is not valid any more.
 */
bool journal_file_refresh(struct journal_file *f);

/*
 * Reads the next object. line has room for JOURNAL_LINE_MAX bytes; *ret_len is the length of the
 * line, without a newline or a final NUL.
 */
enum journal_step journal_file_next(struct journal_file *f, char *line, size_t *ret_len);

/* Skips all objects up to the end that the header names. */
void journal_file_skip(struct journal_file *f);
