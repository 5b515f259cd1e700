/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the number of history files in the sidecar's directory. A launcher that closes its
 * connection and lives may reconnect and continue its history: so the file is parked. But a process
 * that connects again and again, each time as another container, must not fill the spool: so the
 * file that was parked first is removed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/sample/history.h"

#define HISTORY_FILE_MAX (LIFE_NAME_MAX + 32)
#define HISTORY_SUFFIX ".ring"
#define HISTORY_BYTES ((int64_t)256 << 10) /* no file is larger */
/*
 * Files; twice the number of connections, because launchers may come and go while reports are
 * written.
 */
#define HISTORIES_MAX 64
#define HISTORIES_MIN 2
#define PARKED_MAX 16

struct parking {
	int dirfd; /* not owned */
	size_t max; /* files */
	char files[PARKED_MAX][HISTORY_FILE_MAX]; /* oldest first */
	size_t n;
};

/*
 * The files take at most an eighth of spool_bytes (0: the spool has no bound), but HISTORIES_MIN
 * files are always allowed.
 */
void parking_init(struct parking *p, int dirfd, int64_t spool_bytes);

bool is_history_file(const char *name);
void history_file_of(const struct life *l, char file[static HISTORY_FILE_MAX]);

/* Parks a file: nothing writes to it for now. */
void parking_add(struct parking *p, const char *file);

/* The file is in use again, or was removed. */
void parking_take(struct parking *p, const char *file);

/*
 * Removes parked files until there is room for another file. Returns false if all files are in use.
 */
bool parking_make_room(struct parking *p);
