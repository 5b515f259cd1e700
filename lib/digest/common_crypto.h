/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of libSystem, which every macOS has, by the names of OpenSSL. It is declared here because
 * CommonCrypto/CommonDigest.h is in Apple's SDK alone; CC_SHA(3cc) documents the functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_DIGEST_LENGTH 32

typedef struct {
	uint32_t count[2];
	uint32_t hash[8];
	uint32_t wbuf[16];
} SHA256_CTX;

int CC_SHA256_Init(SHA256_CTX *state);
int CC_SHA256_Update(SHA256_CTX *state, const void *data, uint32_t len);
int CC_SHA256_Final(unsigned char *ret_digest, SHA256_CTX *state);

#define SHA256_Init CC_SHA256_Init
#define SHA256_Final CC_SHA256_Final

/* CommonCrypto takes at most 4 GiB at a time. */
static inline void SHA256_Update(SHA256_CTX *state, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	while (len) {
		uint32_t part = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;

		CC_SHA256_Update(state, bytes, part);
		bytes += part;
		len -= part;
	}
}
