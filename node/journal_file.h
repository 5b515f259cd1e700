/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a file of systemd's journal and gives its entries as lines of a syslog. Its format is documented and stable
 * (systemd.io/JOURNAL_FILE_FORMAT); libsystemd reads it as well, but there is no static library of it. The file is read by pread, so
 * that one that shrinks is only short, and no entry is believed without its places being checked. Messages that journald has compressed
 * (of more than 512 bytes) are left out.
 */
#ifndef AFTERGLOW_NODE_JOURNAL_FILE_H
#define AFTERGLOW_NODE_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define JOURNAL_LINE_MAX 2048 /* bytes; of a longer message the end is left out */

struct journal_file {
	int fd; /* the caller's */
	bool compact;
	uint64_t at; /* the place of the next object that was not looked at */
	uint64_t tail; /* the place of the last object that the header names */
	int64_t written_us; /* when the last entry was written, since 1970 */
};

enum journal_step {
	JOURNAL_LINE, /* an entry of the kernel, or of a program of root's */
	JOURNAL_OTHER, /* an object that is none, or an entry of somebody else */
	JOURNAL_END, /* nothing more for now; or the last entry is still being written */
};

/*
 * From the file's first entry, or from the end on. -EPROTO: no journal file; -ENOTSUP: one of a later format, which the error names.
 * fd stays the caller's and must outlive it.
 */
int journal_file_open(struct journal_file *ret_file, int fd, bool from_end, struct err *err);

/* Reads the header again, for what was written since. False: it cannot be read, or is none any more. */
bool journal_file_refresh(struct journal_file *f);

/* Goes on by an object. line has JOURNAL_LINE_MAX bytes; *ret_len is its length, without a newline or a final NUL. */
enum journal_step journal_file_next(struct journal_file *f, char *line, size_t *ret_len);

/* Leaves out all that the header names and was not looked at. */
void journal_file_skip(struct journal_file *f);

#endif
