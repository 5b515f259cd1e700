/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file more for a bundle that is committed already: a core, which is large
 * and comes when the report has long been read. It is written under a hidden
 * name (".FILE.partial"), fsynced and renamed, then the manifest is exchanged in
 * one step. At any moment, also after a crash, the manifest is true of the files
 * it lists.
 *
 * While a hidden file is there the bundle is not finished: it may be shipped, but
 * stays in the spool until it was shipped with the addition.
 */
#ifndef AFTERGLOW_SIDECAR_STORE_EXTEND_H
#define AFTERGLOW_SIDECAR_STORE_EXTEND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

struct extension;

/*
 * path: the bundle's directory, from the root. file: a name without a slash. ret_fd is open for reading and writing, for
 * a child to fill, and belongs to the extension. A file of that name that
 * the manifest lists stays, and commit says -EEXIST. Several may be open at once.
 */
int extend_begin(const char *path, const char *file, struct extension **ret_extension, int *ret_fd, struct err *err);

/* Goes on with what extend_begin began in another process: the file as that has left it. -ENOENT: there is none. */
int extend_resume(const char *path, const char *file, struct extension **ret_extension, int *ret_fd, struct err *err);

/*
 * sha256: 64 hexadecimal digits if whoever wrote the file has computed them; NULL: it is read once more, which for a
 * large one takes a second per 200 MB or so. Frees e in any case; on failure nothing is left of the file. Whoever
 * changes the manifest of that bundle meanwhile, in whichever process, is waited for.
 */
int extend_commit(struct extension *e, const char *sha256, struct err *err);

/* Leaves the bundle as it was and frees e. NULL is allowed. */
void extend_abort(struct extension *e);

/*
 * Removes what is left of an addition whose writer was killed: its file, and a manifest that it did
 * not put in place. Waits for whoever changes the manifest of that bundle meanwhile.
 */
void extend_discard(const char *path, const char *file);

/* Whether an addition to the bundle is being written, or was when its writer died. */
bool extend_pending(int bundle_fd);

#endif
