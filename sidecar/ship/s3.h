/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the S3 store share: who we are, where the bucket is, one request. */
#ifndef AFTERGLOW_SIDECAR_SHIP_S3_H
#define AFTERGLOW_SIDECAR_SHIP_S3_H

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/s3_answer.h"
#include "sidecar/ship/s3_identity.h"
#include "sidecar/ship/store.h"

/* Files above this go in parts, which a later run can go on with; below it one request is cheaper. */
#define S3_SINGLE_MAX ((int64_t)32 << 20)

/* A PUT replaces an object whole: up to here another HEAD would cost more than now and then sending what is there. */
#define S3_BLIND_MAX ((int64_t)256 << 10)

#define S3_KEY_MAX (STORE_PATH_MAX + PLAN_PATH_MAX)
#define S3_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3 {
	struct store store;
	struct http *http;
	struct s3_place place;
	char endpoint[600];
	char scope[128]; /* for curl's signature: "aws:amz:REGION:s3" */
	bool path_style;
	struct s3_identity identity;
};

/* A request to a key: what differs from one to another. */
struct s3_request {
	const char *method, *key, *query; /* query: encoded, its names sorted; NULL: none */
	const char *sha256;		  /* of the body; NULL: it is empty */
	const char *headers[4];		  /* more of them, NULL-terminated */
	const char *body;
	int fd;
	int64_t offset, len;
	int64_t stall_s;
	void (*on_sent)(void *arg, int64_t sent);
	void *arg;
};

/* A started request and all that it points to; zeroed before, released after it is over. */
#define S3_HEADERS_MAX 8
struct s3_call {
	struct strbuf url;
	char sha256_header[100];
	const char *headers[S3_HEADERS_MAX];
	struct http_request request;
};
int s3_start(struct s3 *s3, const struct s3_request *request, struct s3_call *call, struct fault *fault);
void s3_call_release(struct s3_call *call);

/* One alone. 0: answered, whatever the status. */
int s3_call(struct s3 *s3, const struct s3_request *request, struct http_transfer **ret_transfer, struct fault *fault);

/* Appends "https://..." of a key. Pure. */
void s3_url(struct strbuf *out, const char *endpoint, bool path_style, const char *bucket, const char *key, const char *query);
/* Whether the bucket has to stand in the path: no such host, or none that a certificate covers. Pure. */
bool s3_needs_path_style(const char *endpoint, const char *bucket);

/* A file in parts. */
int s3_put_parts(struct s3 *s3, const struct item *item, const char *key, struct fault *fault);
/* Aborts every upload for this key. */
void s3_abort_uploads(struct s3 *s3, const struct item *item, const char *key);

/* Credentials for a role, by the token that says who we are; endpoint like "https://sts.REGION.amazonaws.com". */
int sts_assume(struct http *http, const char *endpoint, const struct credentials *c, struct sts_credentials *ret_credentials,
	       struct fault *fault);

#endif
