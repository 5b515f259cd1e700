/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 by OpenSSL's low-level implementation without the rest of OpenSSL: five
 * objects of its archive, 20 kB more than libmd's. It uses the processor's SHA
 * instructions; libmd, which does not, takes six times as long. On macOS it is
 * CommonCrypto's (common_crypto.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define SHA256_BYTES 32
#define SHA256_TEXT_MAX 65 /* hexadecimal, with the final NUL */

/* Owns nothing, so it may be dropped without sha256_end. */
struct sha256 {
	uint64_t state[14];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_end(struct sha256 *s, char ret_text[static SHA256_TEXT_MAX]);

/* Compute the digest of memory, as bytes and in hexadecimal. */
void sha256_bytes(const void *data, size_t len, unsigned char ret_digest[static SHA256_BYTES]);
void sha256_text(const void *data, size_t len, char ret_text[static SHA256_TEXT_MAX]);

/*
 * Computes the digest of a file from offset to its end, or of at most len bytes; *ret_len is the
 * number of bytes. alive, if not NULL, is called from time to time.
 */
int sha256_file(int fd, int64_t offset, int64_t len, void (*alive)(void *arg), void *arg,
		int64_t *ret_len, char ret_text[static SHA256_TEXT_MAX], struct err *err);
