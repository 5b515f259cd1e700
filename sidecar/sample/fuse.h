/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether a file lies on a FUSE server, without asking that server: if it does not answer,
 * whoever asked hangs. fstat(2) and fstatfs(2) ask it.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Reads the type of the file and its device, which the kernel knows. fd may be an O_PATH
 * descriptor.
 */
bool fuse_look(int fd, struct statx *ret_st);

/*
 * Whether the file is on FUSE, unless the sidecar's own root is on FUSE too (Kata Containers). st
 * is from fuse_look. A server that does not let its files be exported over NFS (possible from Linux
 * 6.9 on) is not recognised.
 */
bool fuse_is_foreign(int fd, const struct statx *st);

/*
 * Returns the type of the descriptor's file handle, which the kernel makes without asking the
 * server; -1: it has none.
 */
int file_handle_type(int fd);
