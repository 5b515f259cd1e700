/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the answers of S3 and STS: errors, ids of uploads, lists of parts, credentials. Pure. */
#pragma once

#include <stdint.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/state.h"

#define S3_UPLOADS_MAX 1000 /* S3 lists no more in an answer */
#define S3_ETAG_MAX 128 /* bytes */
#define S3_CHECKSUM_MAX 45 /* a SHA-256 in base64, with the final NUL */

/* The names that appear in the text of a fault. */
struct s3_place {
	const char *bucket, *region, *endpoint;
};

/*
 * Sets the fault of an answer that has a status of 300 or above, or a status of 200 and an error in
 * its body. Returns -1.
 */
int s3_fault(const struct http_answer *answer, const struct s3_place *place, struct fault *fault);
/* Reads S3's error code, such as "NoSuchUpload"; "" if the answer has no error. */
void s3_error_code(const struct http_answer *answer, char code[static 64]);

/* Reads the upload id in the answer of CreateMultipartUpload. */
int s3_upload_id(const char *xml, size_t len, char ret_id[static UPLOAD_ID_MAX], struct err *err);

/* A part of an upload. */
struct s3_part {
	int64_t size; /* bytes; -1: the server does not have the part */
	char etag[S3_ETAG_MAX];
	char checksum[S3_CHECKSUM_MAX]; /* of what was read */
};
/* Writes a SHA-256 in hexadecimal as S3 has it, in base64. Returns ret_checksum. */
const char *s3_checksum(const char *sha256, char ret_checksum[static S3_CHECKSUM_MAX]);
/* Whether an ETag, with quotation marks or without, is this MD5 in hexadecimal. */
bool s3_etag_is(const char *etag, const unsigned char md5[static 16]);
/*
 * Sets those of the n parts that a page of ListParts lists; part number 1 is at index 0. *ret_next
 * is the marker of the next page, 0 on the last page.
 */
int s3_list_parts(const char *xml, size_t len, struct s3_part *parts, size_t n, int64_t *ret_next,
		  struct err *err);

/* Calls fn with each unfinished upload of exactly this key, S3_UPLOADS_MAX at most. */
int s3_list_uploads(const char *xml, size_t len, const char *key,
		    void (*fn)(const char *id, void *arg), void *arg, struct err *err);

/* Temporary keys. sts_credentials_release wipes and frees them. */
struct sts_credentials {
	char *access_key_id, *secret_access_key, *session_token;
};
/* Reads the answer of AssumeRoleWithWebIdentity. */
int sts_read_credentials(const char *xml, size_t len, struct sts_credentials *ret_credentials,
			 struct err *err);
void sts_credentials_release(struct sts_credentials *c);
