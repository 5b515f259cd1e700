/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded reading and durable writing of whole files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/*
 * Appends what fd holds from its current position to the end, up to out's
 * ceiling. -EFBIG if there is more than the ceiling allows; out keeps what fitted.
 */
int fd_read_all(int fd, struct strbuf *out, struct err *err);

/* Opens path below dirfd (AT_FDCWD allowed) and does the same. */
int file_read(int dirfd, const char *path, struct strbuf *out, struct err *err);

/*
 * Does the same where others may write: reads only a regular file, and not through a link anywhere
 * in path. A FIFO would keep us waiting, and a link could lead to what only we may read.
 */
int file_read_foreign(int dirfd, const char *path, struct strbuf *out, struct err *err);

/*
 * Reads len bytes, fewer only at the end, also after short reads and EINTR. Returns their number,
 * or -errno. offset: the place in the file; -1: its current position, as in a pipe.
 */
ssize_t fd_read_whole(int fd, void *data, size_t len, off_t offset);

/* Writes all len bytes, also after short writes and EINTR. */
int fd_write_all(int fd, const void *data, size_t len, struct err *err);

/* Creates or replaces path below dirfd with the data and fsyncs the file (not its directory). */
int file_write(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	       struct err *err);

/* Does the same without the fsync, which the caller must then do. */
int file_put(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
	     struct err *err);

/*
 * Replaces path below dirfd by the data, whole or not at all; only the user can read it. It is not
 * synced: it must survive its writer, but not the machine. If it fails, the old content stays. Does
 * nothing if dirfd is -1.
 */
void file_replace(int dirfd, const char *path, const void *data, size_t len);

/*
 * Removes name below dirfd with all that is in it, at most eight levels deep; follows no symbolic
 * link. Continues after an entry that cannot be removed. Returns false if something is left.
 */
bool tree_remove(int dirfd, const char *name);

/*
 * Opens the directory at the first len bytes of path, which is relative to dirfd ("" is dirfd
 * itself). Each component must be a directory and not a symbolic link, so a process that may write
 * there cannot make us open another place. Returns a descriptor, or
 * -errno.
 */
int dir_open_below(int dirfd, const char *path, size_t len);

/*
 * Creates path and its missing parents, each with mode. It is not an error if the directory exists.
 */
int dir_make_all(const char *path, mode_t mode, struct err *err);
