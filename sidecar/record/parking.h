/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history files in a sidecar's directory, of which there is a bounded number. A launcher that hangs up and lives may come back
 * for its history: the file is parked. But whoever says hello and hangs up again and again, each time as another container, must
 * not fill the spool: then the file that was parked first goes.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_PARKING_H
#define AFTERGLOW_SIDECAR_RECORD_PARKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/sample/history.h"

#define HISTORY_FILE_MAX (LIFE_NAME_MAX + 32)
#define HISTORY_SUFFIX ".ring"
#define HISTORY_BYTES ((int64_t)256 << 10) /* no file is larger */
/* Twice the connections at a time: a launcher may come and go while reports are written. */
#define HISTORIES_MAX 64
#define HISTORIES_MIN 2
#define PARKED_MAX 16

struct parking {
	int dirfd; /* not owned */
	size_t max; /* files */
	char files[PARKED_MAX][HISTORY_FILE_MAX]; /* oldest first */
	size_t n;
};

/* The files take at most an eighth of spool_bytes (0: that has no bound), unless that is too little for HISTORIES_MIN. */
void parking_init(struct parking *p, int dirfd, int64_t spool_bytes);

bool is_history_file(const char *name);
void history_file_of(const struct life *l, char file[static HISTORY_FILE_MAX]);

/* Nobody writes that file for now. */
void parking_add(struct parking *p, const char *file);

/* It is in use again, or gone. */
void parking_take(struct parking *p, const char *file);

/* Removes what has to go for one file more. False: all are in use. */
bool parking_make_room(struct parking *p);

#endif
