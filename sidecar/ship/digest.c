/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by OpenSSL, which libcurl brings along anyway; it uses the processor's own instructions. */
#include "sidecar/ship/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/macros.h"

#define CHUNK ((size_t)256 << 10)

int digest_begin(struct digest *d)
{
	d->context = EVP_MD_CTX_new();
	if (d->context && EVP_DigestInit_ex(d->context, EVP_sha256(), NULL) == 1)
		return 0;
	digest_end(d, NULL);
	return -ENOMEM;
}

void digest_add(struct digest *d, const void *data, size_t len)
{
	EVP_DigestUpdate(d->context, data, len);
}

void digest_end(struct digest *d, char ret_text[SHA256_TEXT_MAX])
{
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (d->context && ret_text && EVP_DigestFinal_ex(d->context, raw, &len) == 1)
		for (unsigned int i = 0; i < len && i < (SHA256_TEXT_MAX - 1) / 2; i++)
			snprintf(ret_text + 2 * i, 3, "%02x", raw[i]);
	EVP_MD_CTX_free(d->context);
	d->context = NULL;
}

int digest_of_range(int fd, int64_t offset, int64_t len, void (*alive)(void *arg), void *arg, char ret_text[SHA256_TEXT_MAX])
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	struct digest d = { 0 };
	int r = chunk ? digest_begin(&d) : -ENOMEM;

	while (r == 0 && len > 0) {
		ssize_t n = pread(fd, chunk, (size_t)MIN((int64_t)CHUNK, len), offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : -ENODATA;
			break;
		}
		digest_add(&d, chunk, (size_t)n);
		if (alive)
			alive(arg);
		offset += n;
		len -= n;
	}
	digest_end(&d, r == 0 ? ret_text : NULL);
	return r;
}

int digest_of_text(const char *text, size_t len, char ret_text[SHA256_TEXT_MAX])
{
	struct digest d = { 0 };

	if (digest_begin(&d) < 0)
		return -ENOMEM;
	digest_add(&d, text, len);
	digest_end(&d, ret_text);
	return 0;
}
