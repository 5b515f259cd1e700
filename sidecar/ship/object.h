/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object stores S3 and Azure Blob Storage have these in common: names, sizes, and how an answer
 * describes an object.
 */
#pragma once

#include "lib/digest/sha256.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/store.h"

/*
 * Bytes. Larger files are sent in parts, so that a later run can continue; smaller files are sent
 * in one request.
 */
#define OBJECT_SINGLE_MAX ((int64_t)32 << 20)
/*
 * Bytes. Files up to this size are sent without a HEAD before, because asking would cost more than
 * sending the file again.
 */
#define OBJECT_BLIND_MAX ((int64_t)256 << 10)
/* of a file: S3's own limit; a longer list of Azure's would exceed HTTP_ANSWER_MAX */
#define OBJECT_PARTS_MAX 10000
#define OBJECT_KEY_MAX (STORE_PATH_MAX + PLAN_PATH_MAX) /* bytes */
#define OBJECT_RANGE_MAX 80
#define MD5_TEXT_MAX 25 /* 16 bytes in base64, with the final NUL */

/* Makes the name of the object for a path below the store. */
void object_key(const struct ship_options *options, const char *path,
		char ret_key[static OBJECT_KEY_MAX]);

/*
 * Sets *ret_look by the answer to a HEAD for the item. Such an answer has no body and so no error
 * code: 404 means that the object or its bucket is missing, and 403 may mean wrong credentials. The
 * PUT that follows shows which. Returns false if the answer is an error.
 */
bool object_look(const struct http_answer *answer, const struct item *item, enum look *ret_look);

/* Makes the header "NAME: bytes=FIRST-LAST". */
void object_range(const char *name, int64_t offset, size_t len,
		  char ret_header[static OBJECT_RANGE_MAX]);
/*
 * Appends the part of the object in the answer to a GET from offset on. Returns false if the answer
 * is an error.
 */
bool object_take(const struct http_answer *answer, int64_t offset, struct strbuf *out);

/* What one read of a piece of a file is good for. */
struct object_digest {
	struct sha256 *file; /* the piece is added to the digest of the whole file */
	bool wants_sha256; /* of the piece itself */
	unsigned char md5[16]; /* of the piece */
	char md5_text[MD5_TEXT_MAX]; /* for the header Content-MD5 */
	char sha256[SHA256_TEXT_MAX];
};
/*
 * Reads len bytes from offset on. Requests that are under way, the progress and the deadline are
 * served meanwhile.
 */
int object_read(const struct store_context *context, struct http *http, const struct item *item,
		int64_t offset, int64_t len, struct object_digest *digest, struct fault *fault);
/* Compares the SHA-256 of all that was read with what the manifest says. */
int object_check_sha256(const struct item *item, struct sha256 *file, struct fault *fault);
/* Both for the whole file; *ret_md5 is its MD5 for the header Content-MD5. */
int object_check_file(const struct store_context *context, struct http *http,
		      const struct item *item, char ret_md5[static MD5_TEXT_MAX],
		      struct fault *fault);
