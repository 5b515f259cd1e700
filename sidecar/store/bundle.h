/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One failure's directory in a directory store. It is written under a temporary
 * name (".NAME.partial"), MANIFEST.json last, all of it made durable in one pass,
 * and renamed: a directory without that prefix is complete, and a manifest in it
 * lists every file with size and SHA-256.
 */
#ifndef AFTERGLOW_SIDECAR_STORE_BUNDLE_H
#define AFTERGLOW_SIDECAR_STORE_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define BUNDLE_PATH_MAX 768

struct bundle;

/*
 * Makes STORE/PARENT/.NAME.partial and what is missing above it. PARENT may have
 * several components. A NAME that is taken gets "-2", "-3" and so on; -EEXIST
 * only when there are 999 of them. On success the caller ends it with commit or abort.
 */
int bundle_begin(const char *store, const char *parent, const char *name, struct bundle **ret_bundle,
		 struct err *err);

/* How many bytes may go into it, as a rule for those who add much; no bound until it is set. */
void bundle_set_room(struct bundle *b, int64_t bytes);
int64_t bundle_room(const struct bundle *b);

/* The path below the store that the bundle will have: "PARENT/NAME". */
const char *bundle_path(const struct bundle *b);

/* file may lie in one directory ("logs/raylet.out"), which is made. */
int bundle_add(struct bundle *b, const char *file, const void *data, size_t len, struct err *err);

/* Calls fn with the name of each file added so far, in that order. */
void bundle_each_file(const struct bundle *b, void (*fn)(const struct bundle *b, const char *file, void *arg), void *arg);

/* Appends the first or the last bytes of a file that was added, as many as fit under out's ceiling. */
int bundle_read_head(const struct bundle *b, const char *file, struct strbuf *out, struct err *err);
int bundle_read_tail(const struct bundle *b, const char *file, struct strbuf *out, struct err *err);

/*
 * Copies from fd's position to the end, at most max bytes, through a small buffer. A name that is
 * taken is an error (-EEXIST).
 */
int bundle_copy(struct bundle *b, const char *file, int fd, size_t max, struct err *err);

/*
 * For what a child process writes: a new file, open for it and for us. bundle_finish_file takes it as it then is,
 * size and digest read from fd; the caller closes fd in any case. -EEXIST when the name is taken.
 */
int bundle_open_file(struct bundle *b, const char *file, int *ret_fd, struct err *err);
int bundle_finish_file(struct bundle *b, const char *file, int fd, struct err *err);
/* In place of bundle_finish_file: it is to have no such file. */
void bundle_drop_file(struct bundle *b, const char *file);

/* Removes what lies in directory, of which the bundle knows no file: whoever wrote there did not come to an end. */
void bundle_drop_directory(struct bundle *b, const char *directory);

/* Writes the manifest, makes all durable and visible. Frees b in any case; on failure nothing is left. */
int bundle_commit(struct bundle *b, struct err *err);

/* Removes what was written and frees b. NULL is allowed. */
void bundle_abort(struct bundle *b);

/*
 * Removes what a writer that died left half-written in STORE/ABOVE/DIRECTORY/
 * and in the bundles there, for each DIRECTORY. Nobody may be writing there.
 */
void bundle_remove_partial(const char *store, const char *above);

/*
 * Makes text fit to be one component of a path: letters, digits, '.', '_' and
 * '-' stay, all else becomes '_', so does a leading '.'. "" becomes "_" (so there must be room for two bytes). In place.
 */
void bundle_sanitize(char *component);

#endif
