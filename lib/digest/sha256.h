/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, by OpenSSL's own implementation and none of the rest of OpenSSL: five
 * objects of its archive, 20 kB more than libmd's. It uses the processor's
 * instructions, where libmd takes six times as long.
 */
#ifndef AFTERGLOW_LIB_DIGEST_SHA256_H
#define AFTERGLOW_LIB_DIGEST_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define SHA256_BYTES 32
#define SHA256_TEXT_MAX 65 /* hexadecimal, with the final NUL */

/* Owns nothing: one that is not ended is only forgotten. */
struct sha256 {
	uint64_t state[14];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, char ret_text[static SHA256_TEXT_MAX]);

/* Of memory; in bytes, in hexadecimal. */
void sha256_bytes(const void *data, size_t len, unsigned char ret_digest[static SHA256_BYTES]);
void sha256_text(const void *data, size_t len, char ret_text[static SHA256_TEXT_MAX]);

/* Of a file from offset to its end, or of at most len bytes; ret_len: of how many. alive, if not NULL, is called now and then. */
int sha256_file(int fd, int64_t offset, int64_t len, void (*alive)(void *arg), void *arg, int64_t *ret_len,
		char ret_text[static SHA256_TEXT_MAX], struct err *err);

#endif
