/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of a tar archive (POSIX ustar) of regular files. Each file has a header of 512 bytes, and
 * its content is padded with zeros to a multiple of 512 bytes. Two headers of zeros end the
 * archive. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define TAR_BLOCK 512
#define TAR_NAME_MAX 256 /* bytes of a name, with its NUL */
#define TAR_SIZE_MAX (((int64_t)1 << 33) - 1) /* bytes of a file: eleven octal digits */

/*
 * Makes a header. -ENAMETOOLONG: name does not fit (100 bytes, or 155 before a slash and 100 after
 * it); -EFBIG: size is negative or too large.
 */
int tar_header_make(const char *name, int64_t size, char ret_block[static TAR_BLOCK],
		    struct err *err);

/*
 * Reads an untrusted header. Returns 1 for a header of zeros, the end. Returns 0 for a regular
 * file; then ret_name is a relative path without empty, hidden, "." and ".." components and without
 * control characters. Returns -EBADMSG for anything else.
 */
int tar_header_parse(const char block[static TAR_BLOCK], char ret_name[static TAR_NAME_MAX],
		     int64_t *ret_size, struct err *err);

/* Returns the number of zeros after a file of that size. */
size_t tar_padding(int64_t size);
