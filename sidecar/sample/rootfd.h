/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files of a container through an O_PATH descriptor of its root directory.
 *
 * Everything below that root belongs to the user of the container and is taken as hostile: symbolic
 * links resolve inside the root and nowhere else, magic links are refused, FIFOs and devices are
 * neither waited for nor read. From Linux 5.6 on, the kernel's openat2(2) does this; elsewhere, and
 * where a link is met below a root that is also ours, sample/root_walk does.
 */
#pragma once

#include "lib/err.h"
#include "lib/strbuf.h"

/* Opens a path below root_fd; flags as in open(2). The caller closes the result. */
int rootfd_open(int root_fd, const char *path, int flags, struct err *err);

/*
 * Does the same, but refuses symbolic links in the path, and ".." out of dir_fd. A negative errno
 * on failure.
 */
int rootfd_open_no_links(int dir_fd, const char *path, int flags);

/*
 * Appends the content of a regular file to out. -EFBIG: it is longer than out's ceiling; out has as
 * much as fitted.
 */
int rootfd_read(int root_fd, const char *path, struct strbuf *out, struct err *err);

/*
 * Do the same for callers that cannot wait, such as the event loop: what lies on a FUSE server is
 * refused with -EREMOTE, without asking that server, which may not answer.
 */
int rootfd_open_no_fuse(int root_fd, const char *path, int flags, struct err *err);
int rootfd_read_no_fuse(int root_fd, const char *path, struct strbuf *out, struct err *err);
