/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the journal of a node that keeps no syslog file: the file `system.journal` that journald writes to, in /var/log/journal or
 * /run/log/journal, across its rotations.
 */
#ifndef AFTERGLOW_NODE_JOURNAL_H
#define AFTERGLOW_NODE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "node/journal_file.h"

struct journal {
	const char *root; /* the node's root directory, as the agent sees it */
	struct journal_file
		file; /* its fd is -1: there is none now; the rest is of the one before */
	struct stat st; /* of it */
	char path[512];
	char line[JOURNAL_LINE_MAX];
};

/* -ENOENT: the node has no journal. Of the file that is there, only what is written from now on is read. root must outlive it. */
int journal_open(struct journal *ret_journal, const char *root, struct err *err);

/*
 * Calls fn with each line that was written since. It reads a bounded part; where more was written, the middle is left out. It goes on to
 * the next file when journald has rotated, and finds one that did not exist before.
 */
void journal_read(struct journal *j, void (*fn)(const char *line, size_t len));

void journal_close(struct journal *j);

#endif
