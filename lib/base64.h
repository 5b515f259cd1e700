/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 by OpenSSL's libcrypto, for the programs that link it. */
#pragma once

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define BASE64_MAX(bytes) (((bytes) + 2) / 3 * 4 + 1) /* of so many bytes, with the final NUL */

/* Encodes len bytes; ret_text has room for BASE64_MAX(len) bytes. */
static inline void base64_encode(const void *data, size_t len, char *ret_text)
{
	EVP_EncodeBlock((unsigned char *)ret_text, data, (int)len);
}

/*
 * The same, in memory that the caller frees. NULL: there is no memory, or len is above INT32_MAX /
 * 2.
 */
static inline char *base64_text(const void *data, size_t len)
{
	char *text = len <= INT32_MAX / 2 ? malloc(BASE64_MAX(len)) : NULL;

	if (text)
		base64_encode(data, len, text);
	return text;
}

/*
 * Decodes len characters, without blanks; ret_data has room for len / 4 * 3 bytes. Returns how many
 * bytes there are, or -1: it is no base64. libcrypto counts the padding as bytes.
 */
static inline int base64_decode(const char *text, size_t len, void *ret_data)
{
	int n = len > 0 && len % 4 == 0 && len <= INT32_MAX ?
			EVP_DecodeBlock(ret_data, (const unsigned char *)text, (int)len) :
			-1;

	return n < 2 ? -1 : n - (text[len - 1] == '=') - (text[len - 2] == '=');
}
