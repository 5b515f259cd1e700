/* SPDX-License-Identifier: Apache-2.0 */
/* Computes SHA-256 digests. */
/* The newer interface loads providers and configuration, which costs megabytes */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "lib/digest/sha256.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#ifdef __APPLE__
#include "lib/digest/common_crypto.h"
#else
#include <openssl/sha.h>
#endif

#include "lib/fileio.h"

#define CHUNK ((size_t)64 << 10)

static_assert(sizeof(struct sha256) >= sizeof(SHA256_CTX) && SHA256_BYTES == SHA256_DIGEST_LENGTH,
	      "room for the library's state");

static void sha256_to_text(const unsigned char digest[static SHA256_BYTES], char *ret_text)
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", digest[i]);
}

void sha256_begin(struct sha256 *s)
{
	SHA256_Init((SHA256_CTX *)s->state);
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	SHA256_Update((SHA256_CTX *)s->state, data, len);
}

void sha256_end(struct sha256 *s, char ret_text[static SHA256_TEXT_MAX])
{
	unsigned char digest[SHA256_BYTES];

	SHA256_Final(digest, (SHA256_CTX *)s->state);
	sha256_to_text(digest, ret_text);
}

void sha256_bytes(const void *data, size_t len, unsigned char ret_digest[static SHA256_BYTES])
{
	SHA256_CTX s;

	SHA256_Init(&s);
	SHA256_Update(&s, data, len);
	SHA256_Final(ret_digest, &s);
}

void sha256_text(const void *data, size_t len, char ret_text[static SHA256_TEXT_MAX])
{
	unsigned char digest[SHA256_BYTES];

	sha256_bytes(data, len, digest);
	sha256_to_text(digest, ret_text);
}

int sha256_file(int fd, int64_t offset, int64_t len, void (*alive)(void *arg), void *arg,
		int64_t *ret_len, char ret_text[static SHA256_TEXT_MAX], struct err *err)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	struct sha256 s;
	int64_t done = 0;

	if (!chunk)
		return err_set(err, ENOMEM, "digest");
	sha256_begin(&s);
	while (done < len) {
		size_t part = (size_t)MIN((int64_t)CHUNK, len - done);
		ssize_t n = fd_read_whole(fd, chunk, part, offset + done);

		if (n < 0)
			return err_set(err, (int)-n, "read");
		if (n == 0)
			break;
		sha256_add(&s, chunk, (size_t)n);
		done += n;
		if (alive)
			alive(arg);
	}
	sha256_end(&s, ret_text);
	*ret_len = done;
	return 0;
}
