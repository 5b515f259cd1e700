/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps in the hidden file BUNDLE/.ship what a run of afterglow-ship leaves for the next: the
 * multipart upload that is under way, and the files that were sent whole (for stores that keep no
 * digest). The file is only a hint. If it is missing, damaged or of another store, it counts as
 * empty, and the store is asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json.h"

#define STATE_FILE ".ship"
#define STATE_MAX ((size_t)1 << 20) /* bytes */
#define UPLOAD_ID_MAX 1024 /* bytes */

struct upload {
	char id[UPLOAD_ID_MAX];
	int64_t part; /* bytes of each part but the last */
	/* it began with SHA-256 as the checksum of its parts: then the server wants it of each */
	bool sha256;
};

struct state {
	int dir_fd; /* of the bundle; not owned */
	cJSON *json; /* "store", "sent": {name: sha256}, "upload": {"file", "sha256", "id", "partBytes", "sha256Parts", "damaged"} */
};

/*
 * Reads the state. store identifies the store; the state of another store counts as empty. -ENOMEM
 * is the only error. The caller releases the state.
 */
int state_open(int dir_fd, const char *store, struct state *ret_state, struct err *err);
void state_release(struct state *s);

/* Whether a file of that name and content was sent whole. */
bool state_was_sent(const struct state *s, const char *name, const char *sha256);
void state_set_sent(struct state *s, const char *name, const char *sha256);

/*
 * Finds the unfinished upload of a file of that name and content. Returns false if there is none.
 */
bool state_upload(const struct state *s, const char *name, const char *sha256,
		  struct upload *ret_upload);
/* Notes an upload. An empty id says that an upload is about to begin. */
void state_set_upload(struct state *s, const char *name, const char *sha256,
		      const struct upload *upload);
/* Whether an upload of that name was begun and not cleared, whatever its content. */
bool state_has_upload(const struct state *s, const char *name);
void state_clear_upload(struct state *s);
/*
 * Notes, in the place of an upload, that a file is not what the manifest says of it. That holds
 * until the next upload is noted.
 */
void state_set_damaged(struct state *s, const char *name, const char *sha256);
bool state_was_damaged(const struct state *s, const char *name, const char *sha256);

/* Replaces the file. Callers may ignore an error, because only the hint is lost. */
int state_save(const struct state *s, struct err *err);
