/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a bundle: the directory of one failure in a directory store. It is written
 * under a temporary name (".NAME.partial"), MANIFEST.json last; then everything is
 * made durable in one pass, and the directory is renamed. So a directory without that
 * prefix is complete, and its manifest lists every file with size and SHA-256.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define BUNDLE_PATH_MAX 768

struct bundle;

/*
 * Makes the directory STORE/PARENT/.NAME.partial, and missing directories above it.
 * PARENT may have several components. If NAME exists, "-2", "-3" and so on is appended;
 * -EEXIST if there are 999 of them. The caller ends the bundle with bundle_commit or
 * bundle_abort.
 */
int bundle_begin(const char *store, const char *parent, const char *name,
		 struct bundle **ret_bundle, struct err *err);

/*
 * Set and return how many bytes may be added. Callers that add much data check it; until it is set,
 * there is no bound.
 */
void bundle_set_room(struct bundle *b, int64_t bytes);
int64_t bundle_room(const struct bundle *b);

/* The path below the store that the bundle will have: "PARENT/NAME". */
const char *bundle_path(const struct bundle *b);

/*
 * Adds a file with that content. file may be in one directory ("logs/raylet.out"), which is made.
 * -EEXIST: the bundle has a file of that name.
 */
int bundle_add(struct bundle *b, const char *file, const void *data, size_t len, struct err *err);

/* Calls fn with the name of each file added so far, in that order. */
void bundle_each_file(const struct bundle *b,
		      void (*fn)(const struct bundle *b, const char *file, void *arg), void *arg);

/*
 * Append the first or the last bytes of a file that was added, as many as fit under out's ceiling.
 */
int bundle_read_head(const struct bundle *b, const char *file, struct strbuf *out, struct err *err);
int bundle_read_tail(const struct bundle *b, const char *file, struct strbuf *out, struct err *err);

/*
 * Adds a file with the content of fd from its position to its end, at most max bytes, through a
 * small buffer. -EEXIST as for bundle_add.
 */
int bundle_copy(struct bundle *b, const char *file, int fd, size_t max, struct err *err);

/*
 * Removes a directory of the bundle with everything in it, when its writer has failed. No file in
 * it may have been added.
 */
void bundle_drop_directory(struct bundle *b, const char *directory);

/*
 * Writes the manifest, and makes the bundle durable and visible. Frees b in any case; on failure
 * nothing of the bundle is left.
 */
int bundle_commit(struct bundle *b, struct err *err);

/* Removes what was written and frees b, which may be NULL. */
void bundle_abort(struct bundle *b);

/*
 * Changes component, in place, so that it can be one component of a path: letters, digits, '.', '_'
 * and '-' stay, other bytes and a leading '.' become '_'. "" becomes "_", so there must be room for
 * two bytes.
 */
void bundle_sanitize(char *component);
