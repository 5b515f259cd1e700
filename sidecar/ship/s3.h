/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the S3 store share these: the identity, the place of the bucket, and the functions that make a request. */
#pragma once

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/object.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/s3_answer.h"
#include "sidecar/ship/s3_identity.h"
#include "sidecar/ship/store.h"

#define S3_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3 {
	struct store store;
	struct http *http;
	struct s3_place place;
	char endpoint[600];
	char scope[128]; /* for curl's signature: "aws:amz:REGION:s3" */
	bool path_style;
	char encryption_header[64], kms_key_header[S3_KMS_KEY_ID_MAX + 64]; /* "": not sent */
	struct s3_identity identity;
};

/* A request to a key. Members that it shares with struct http_request mean the same. */
struct s3_request {
	const char *method, *key, *query; /* query: encoded, its names sorted; NULL: none */
	const char *sha256;		  /* of the body, in hexadecimal; NULL: the body is empty */
	const char *md5;		  /* of a file or a part of one, in base64, as Object Lock asks; NULL: the body is neither */
	const struct item *creates;	  /* the object that the request creates, for the headers of objects; NULL: none */
	const char *header;		  /* an additional header; NULL: none */
	const char *body;
	int fd;
	int64_t offset, len;
	int64_t stall_s;
	bool unasked;
	void (*on_sent)(void *arg, int64_t sent);
	void *arg;
};

/* A request that is under way, with everything it points to. The caller zeroes it, and releases it when the request is over. */
#define S3_HEADERS_MAX 10
struct s3_call {
	struct strbuf url;
	char sha256_header[100], md5_header[64], type_header[100], meta_header[S3_META_HEADER_MAX];
	const char *headers[S3_HEADERS_MAX];
	struct http_request request;
};
int s3_start(struct s3 *s3, const struct s3_request *request, struct s3_call *call, struct fault *fault);
void s3_call_release(struct s3_call *call);

/*
 * Sets the fault of an answer, as s3_fault does, and returns -1. The first time that our clock is to blame, the fault is one that
 * passes at once, because later requests have the store's time.
 */
int s3_refused(struct s3 *s3, struct http_answer *answer, struct fault *fault);

/* Makes a request and waits for it. Returns 0 if it was answered, whatever the status; see http_call. */
int s3_call(struct s3 *s3, const struct s3_request *request, struct http_transfer **ret_transfer, struct fault *fault);

/* Appends the URL of a key to out. Pure. */
void s3_url(struct strbuf *out, const char *endpoint, bool path_style, const char *bucket, const char *key, const char *query);
/*
 * Whether the bucket must be in the path and not in the host's name, because that name would not
 * exist or no certificate would cover it. Pure.
 */
bool s3_needs_path_style(const char *endpoint, const char *bucket);

/* Sends a file in parts, and continues an upload that an earlier run began. */
int s3_put_parts(struct s3 *s3, const struct item *item, const char *key, struct fault *fault);
/* Aborts every unfinished upload for this key. */
void s3_abort_uploads(struct s3 *s3, const struct item *item, const char *key);
