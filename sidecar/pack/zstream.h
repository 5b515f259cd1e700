/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a zstd file, and computes its size and SHA-256.
 *
 * Theory of operation. The caller's thread compresses; a second thread digests and
 * writes, so that neither waits for the other. Four buffers circulate between them.
 * Long runs of zeros are not compressed but written as separate frames, four bytes
 * for each 128 KiB: a file with a hole of a terabyte costs 32 MB and no time.
 * Several frames in a row are one zstd file.
 */
#pragma once

#include <stdint.h>

#include "lib/digest/sha256.h"

#define ZSTREAM_LEVEL 1

struct zstream;

/*
 * Makes a stream that writes to fd from its position, at most max bytes (0: any number). Starts the
 * thread. fd stays the caller's.
 */
int zstream_new(int fd, uint64_t max, struct zstream **ret_stream, struct err *err);

/* Add data, and zeros. -EFBIG: max is reached; the data that was written before stays readable. */
int zstream_add(struct zstream *z, const void *data, size_t len, struct err *err);
int zstream_add_zeros(struct zstream *z, uint64_t len, struct err *err);

/* Ends the file; to be called also after -EFBIG. ret_sha256 is in hexadecimal. */
int zstream_finish(struct zstream *z, uint64_t *ret_size, char ret_sha256[static SHA256_TEXT_MAX],
		   struct err *err);
void zstream_free(struct zstream *z);
