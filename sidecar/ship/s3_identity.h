/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who we are to an S3 store. The first of these that is there:
 *   keys of the Secret
 *   web identity: a role, and a token for which STS gives keys of an hour
 *   Google's metadata server, for Google Cloud Storage: a token that goes with each request, which is not signed then
 *   the container's endpoint (EKS Pod Identity, ECS), named by the variables that Amazon's SDKs read
 * A role that the options name wins over keys.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_S3_IDENTITY_H
#define AFTERGLOW_SIDECAR_SHIP_S3_IDENTITY_H

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/options.h"
#include "sidecar/ship/s3_answer.h"

enum s3_identity_kind { IDENTITY_KEYS, IDENTITY_WEB, IDENTITY_CONTAINER, IDENTITY_GOOGLE };

struct s3_identity {
	enum s3_identity_kind kind;
	const struct ship_options *options;
	struct credentials credentials;
	struct sts_credentials given;		/* in place of the Secret's keys */
	int64_t renew_ns;			/* CLOCK_BOOTTIME; 0: nothing was fetched yet */
	char token_header[CREDENTIAL_MAX + 32]; /* goes with each request; "": none */
};

/* Reads the Secret and decides. options must outlive it. */
int s3_identity_open(struct s3_identity *id, const struct ship_options *options, struct fault *fault);
void s3_identity_release(struct s3_identity *id);

/* Before each request: fetches or renews what is due, which is nothing nearly always. */
int s3_identity_renew(struct s3_identity *id, struct http *http, struct fault *fault);

/* Sets what signs the request; scope: see http_request.sigv4. */
void s3_identity_sign(const struct s3_identity *id, const char *scope, struct http_request *request);

/* "x-amz-meta-sha256: ...", or Google's own name for it. */
#define S3_META_HEADER_MAX 100
void s3_identity_meta(const struct s3_identity *id, const char *sha256, char ret_header[static S3_META_HEADER_MAX]);

#endif
