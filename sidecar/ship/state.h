/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of afterglow-ship leaves for the next one, in the hidden file
 * BUNDLE/.ship: the multipart upload that is under way, and what was sent whole
 * (for stores that cannot tell what they hold). It is a hint: lost, damaged, or
 * of another store it is as if it were empty, and the store is asked.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_STATE_H
#define AFTERGLOW_SIDECAR_SHIP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/json.h"

#define STATE_FILE ".ship"
#define STATE_MAX ((size_t)1 << 20)
#define UPLOAD_ID_MAX 1024

struct upload {
	char id[UPLOAD_ID_MAX];
	int64_t part;
};

struct state {
	int dir_fd;  /* of the bundle; not owned */
	cJSON *json; /* "store", "sent": {name: sha256}, "upload": {"file", "sha256", "id", "partBytes"} */
};

/* store tells where to, so that a state of another place is not believed. */
int state_open(int dir_fd, const char *store, struct state *ret_state, struct err *err);
void state_release(struct state *s);

bool state_was_sent(const struct state *s, const char *name, const char *sha256);
void state_set_sent(struct state *s, const char *name, const char *sha256);

/* The upload of just this content under this name, if one is under way. */
bool state_upload(const struct state *s, const char *name, const char *sha256, struct upload *ret_upload);
/* An empty id: one is about to be begun. */
void state_set_upload(struct state *s, const char *name, const char *sha256, const struct upload *upload);
/* Whether one of this name was ever begun and not cleared. */
bool state_has_upload(const struct state *s, const char *name);
void state_clear_upload(struct state *s);

/* Replaces the file. A bundle that cannot be written is an error to look over: all that is lost is the hint. */
int state_save(const struct state *s, struct err *err);

#endif
