/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the content of the Secret with the webhook's certificates. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json.h"

#define CERTIFICATE_PUBLISHED_ANNOTATION "afterglow.dev/next-ca-published-at"
#define CERTIFICATE_REPLACED_ANNOTATION "afterglow.dev/ca-replaced-at"

/* PEM texts, NULL: none. Times are nanoseconds since 1970, 0: none. */
struct certificate_content {
	/* ca.crt: the CA that signs comes first, then the next one, then former ones */
	char *bundle;
	char *ca_key; /* ca.key, which belongs to the first CA of the bundle */
	char *next_ca, *next_key; /* next-ca.crt and next-ca.key: the CA that will sign */
	char *leaf, *leaf_key; /* tls.crt and tls.key */
	int64_t published_ns; /* since when the webhook configuration has had the next CA */
	int64_t replaced_ns; /* since when the former CAs no longer sign */
};

/* overwrites the keys first */
void certificate_content_release(struct certificate_content *content);
#define _cleanup_content_ _cleanup_(certificate_content_release)
/* -ENOMEM: ret_copy is untouched. */
int certificate_content_copy(const struct certificate_content *content,
			     struct certificate_content *ret_copy);
/* Moves the content of from, which is empty afterwards. */
void certificate_content_move(struct certificate_content *content,
			      struct certificate_content *from);

/*
 * Reads the data of a Secret, bytes in base64. An item that is not text or too long counts as
 * absent. Overwrites keys in the object.
 */
int certificate_content_read(cJSON *secret, struct certificate_content *ret_content,
			     struct err *err);
/*
 * Makes the Secret to be written, without its name: a new one of type kubernetes.io/tls, or one to
 * merge into the existing Secret, in which JSON null removes the members that content lacks.
 * Returns NULL if there is no memory.
 */
cJSON *certificate_content_secret(const struct certificate_content *content, bool merge);

/* Overwrites strings of the object's data, which hold keys, and frees it. */
void certificate_secret_free(cJSON *secret);

/*
 * Encode a text as base64 and decode it, into a new string. Return NULL without memory, or if the
 * base64 does not encode a text.
 */
char *certificate_base64(const char *text);
char *certificate_unbase64(const char *base64);
