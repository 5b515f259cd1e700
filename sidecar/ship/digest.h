/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 in hexadecimal, of memory and of a range of a file. */
#ifndef AFTERGLOW_SIDECAR_SHIP_DIGEST_H
#define AFTERGLOW_SIDECAR_SHIP_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "sidecar/ship/plan.h"

struct digest {
	void *context; /* EVP_MD_CTX */
};

/* -ENOMEM */
int digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
/* Ends it; may be called without a result wanted (NULL), and twice. */
void digest_end(struct digest *d, char ret_text[SHA256_TEXT_MAX]);

/* -ENODATA when the file ends before. alive, if not NULL, is called now and then. */
int digest_of_range(int fd, int64_t offset, int64_t len, void (*alive)(void *arg), void *arg, char ret_text[SHA256_TEXT_MAX]);
int digest_of_text(const char *text, size_t len, char ret_text[SHA256_TEXT_MAX]);

#endif
