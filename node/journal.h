/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the journal of a node that keeps no syslog file: reads the file `system.journal` to which
 * journald writes, in /var/log/journal or /run/log/journal, and goes on after each rotation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "node/journal_file.h"

struct journal {
	const char *root; /* the node's root directory, as the agent sees it */
	struct journal_file
		file; /* fd -1: there is no file now, and the rest is of the previous file */
	struct err fault; /* why the last attempt to open an existing file failed */
	struct stat st; /* of the file */
	char path[512];
	char line[JOURNAL_LINE_MAX];
	bool logged_compressed; /* it was logged that compressed messages are left out */
};

/*
 * Opens the journal at its end, so that only new entries are read. -ENOENT: the node has no
 * journal; other errors, such as -EACCES or -ENOTSUP: it cannot be opened. root must outlive it.
 */
int journal_open(struct journal *ret_journal, const char *root, struct err *err);

/*
 * Calls fn with each line that was written since the last call. A call reads a bounded part; if
 * more was written, it leaves out the middle. It continues with the next file after journald has
 * rotated, and finds a file that did not exist before.
 */
void journal_read(struct journal *j, void (*fn)(const char *line, size_t len));

void journal_close(struct journal *j);
