/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs a request to Azure Blob Storage with the key of the account ("Shared Key" in Microsoft's
 * documentation). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"
#include "sidecar/ship/object_store.h"

#define AZURE_KEY_MAX 256 /* bytes; an account's key has 64 */
#define AZURE_SIGNATURE_MAX 48 /* base64 of a SHA-256, with the final NUL */

/*
 * The parts of a request that are signed. Other headers that Azure would take into account must not
 * be sent.
 */
struct azure_to_sign {
	const char *method, *account;
	const char *path; /* of the URL, encoded, with the slash before it */
	int64_t length; /* of the body, bytes */
	const char *md5; /* the value of Content-MD5; "": absent */
	const char *const *
		headers; /* "x-ms-name: value", at most OBJECT_HEADERS_MAX, NULL-terminated, in any order; others are passed over */
	const struct object_param *params; /* in the order of their names */
};

/* Appends the text that azure_sign signs. */
void azure_text_to_sign(struct strbuf *out, const struct azure_to_sign *request);

/*
 * Decodes an account's key, which is base64. -EINVAL: it is not such a key, and ret_key is
 * unchanged.
 */
int azure_key_decode(const char *text, unsigned char ret_key[static AZURE_KEY_MAX], size_t *ret_len,
		     struct err *err);

/* The base64 of HMAC-SHA256 of text. */
void azure_sign(const unsigned char *key, size_t key_len, const char *text,
		char ret_signature[static AZURE_SIGNATURE_MAX]);

/*
 * Whether the time that a SAS token names (its parameter se) was over at now_s, seconds since 1970.
 * NULL: there is no token.
 */
bool azure_sas_has_expired(const char *token, int64_t now_s);
