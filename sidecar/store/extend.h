/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds a file to a bundle that is committed already: a core, which is large and
 * comes long after the report. The file is written under a hidden name
 * (".FILE.partial"), fsynced and renamed; then the manifest is exchanged in one
 * step. At any moment, also after a crash, the manifest describes the files that
 * it lists correctly.
 *
 * While there is a hidden file, the bundle is not finished: it may be shipped, but
 * it stays in the spool until it was shipped with the addition.
 */
#pragma once

#include <stdbool.h>

#include "lib/err.h"

struct extension;

/*
 * Begins an addition. path: the bundle's directory, from the root. file: a name without a slash.
 * *ret_fd is open for reading and writing, so that a child can write the file, and belongs to the
 * extension. If the manifest lists a file of that name already, that file stays, and extend_commit
 * returns -EEXIST. Several additions may be open at once.
 */
int extend_begin(const char *path, const char *file, struct extension **ret_extension, int *ret_fd,
		 struct err *err);

/*
 * Continues an addition that another process began with extend_begin, with the file as it is now.
 * -ENOENT: there is no such file.
 */
int extend_resume(const char *path, const char *file, struct extension **ret_extension, int *ret_fd,
		  struct err *err);

/*
 * Puts the file into the bundle. sha256: 64 hexadecimal digits, if the writer of the file has
 * computed them; NULL: the file is read again, at about 200 MB a second. If another process is
 * changing the manifest of the bundle, waits for it. Frees e in any case; on failure nothing is
 * left of the file.
 */
int extend_commit(struct extension *e, const char *sha256, struct err *err);

/* Leaves the bundle as it was, and frees e, which may be NULL. */
void extend_abort(struct extension *e);

/*
 * Removes what is left of an addition after its writer was killed: its file, and a manifest that it
 * did not put in place. If another process is changing the manifest of the bundle, waits for it.
 */
void extend_discard(const char *path, const char *file);

/* Whether an addition to the bundle is being written, or was when its writer died. */
bool extend_pending(int bundle_fd);
