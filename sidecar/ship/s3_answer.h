/* SPDX-License-Identifier: Apache-2.0 */
/* What S3 answers: errors as faults, ids of uploads, lists of parts. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_S3_ANSWER_H
#define AFTERGLOW_SIDECAR_SHIP_S3_ANSWER_H

#include <stdint.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/state.h"

#define S3_PARTS_MAX 10000 /* S3's own */
#define S3_ETAG_MAX 128

/* What a message names. */
struct s3_place {
	const char *bucket, *region, *endpoint;
};

/* The fault that an answer of 300 or above is, also of one of 200 that holds an error. Returns -1. */
int s3_fault(const struct http_answer *answer, const struct s3_place *place, struct fault *fault);
/* "NoSuchUpload" and the like; "" when the answer holds no error. */
void s3_error_code(const struct http_answer *answer, char code[static 64]);

/* The id of CreateMultipartUpload's answer. */
int s3_upload_id(const char *xml, size_t len, char ret_id[static UPLOAD_ID_MAX], struct err *err);

/* One part that the server has. */
struct s3_part {
	int64_t size; /* -1: not there */
	char etag[S3_ETAG_MAX];
};
/*
 * Marks what a page of ListParts lists in parts, which holds n of them (number 1 at index 0).
 * *ret_next is the marker of the next page, 0 on the last.
 */
int s3_list_parts(const char *xml, size_t len, struct s3_part *parts, size_t n, int64_t *ret_next, struct err *err);

/* Calls fn with each upload that is under way for just this key. */
int s3_list_uploads(const char *xml, size_t len, const char *key, void (*fn)(const char *id, void *arg), void *arg,
		    struct err *err);

/* Credentials of AssumeRoleWithWebIdentity's answer; each is freed by the caller. */
struct sts_credentials {
	char *access_key_id, *secret_access_key, *session_token;
};
int sts_read_credentials(const char *xml, size_t len, struct sts_credentials *ret_credentials, struct err *err);
void sts_credentials_release(struct sts_credentials *c);

#endif
