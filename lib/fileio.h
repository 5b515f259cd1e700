/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and durable writing of whole files. */
#ifndef AFTERGLOW_LIB_FILEIO_H
#define AFTERGLOW_LIB_FILEIO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/*
 * Appends what fd holds from its current position to the end, up to out's
 * ceiling. -EFBIG when there is more than the ceiling allows: what fitted is kept.
 */
int fd_read_all(int fd, struct strbuf *out, struct err *err);

/* Opens path below dirfd (AT_FDCWD allowed) and does the same. */
int file_read(int dirfd, const char *path, struct strbuf *out, struct err *err);

/* Writes all of it, over short writes and EINTR. */
int fd_write_all(int fd, const void *data, size_t len, struct err *err);

/* Creates or replaces path below dirfd with the data and fsyncs the file (not its directory). */
int file_write(int dirfd, const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/* The same without the fsync, which is then the caller's to do. */
int file_put(int dirfd, const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/*
 * Puts the data in the place of path below dirfd, whole or not at all, for the user alone. Not synced: it has to
 * survive its writer, not the machine. What goes wrong leaves what was there. Nothing when dirfd is -1.
 */
void file_replace(int dirfd, const char *path, const void *data, size_t len);

/*
 * Removes name below dirfd with all that is in it, at most eight levels deep; follows no symbolic link.
 * Goes on past what cannot be removed. False: something is left.
 */
bool tree_remove(int dirfd, const char *name);

/*
 * Opens the directory at the first len bytes of path ("" is dirfd itself), a relative one, each component of which is a directory
 * and no symbolic link: whoever may write there cannot lead us elsewhere. A descriptor, or -errno.
 */
int dir_open_below(int dirfd, const char *path, size_t len);

/* Creates path and what is missing above it, each with mode. An existing directory is no error. */
int dir_make_all(const char *path, mode_t mode, struct err *err);

#endif
