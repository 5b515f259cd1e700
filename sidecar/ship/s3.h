/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the S3 store share these: the identity and the place of the bucket. */
#pragma once

#include "sidecar/ship/object_store.h"
#include "sidecar/ship/s3_answer.h"
#include "sidecar/ship/s3_identity.h"

#define S3_EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3 {
	struct object_store objects;
	struct s3_place place;
	char endpoint[600];
	char scope[128]; /* for curl's signature: "aws:amz:REGION:s3" */
	bool path_style, is_aws;
	struct s3_identity identity;
};

/* Appends the URL of a key to out. Pure. */
void s3_url(struct strbuf *out, const char *endpoint, bool path_style, const char *bucket,
	    const char *key);
/*
 * Whether the bucket must be in the path and not in the host's name, because that name would not
 * exist or no certificate would cover it. Pure.
 */
bool s3_needs_path_style(const char *endpoint, const char *bucket);

/* Sends a file in parts, and continues an upload that an earlier run began. */
int s3_put_parts(struct object_store *o, const struct item *item, const char *key,
		 struct fault *fault);
/* Aborts every unfinished upload for this key. */
void s3_abort_uploads(struct object_store *o, const struct item *item, const char *key);
