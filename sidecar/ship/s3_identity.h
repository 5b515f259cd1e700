/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the identity with which requests to an S3 store are made, and renews its credentials. It
 * uses the first of these that exists:
 *   the keys of the Secret
 *   web identity: a role, and a token for which STS gives keys that are valid for an hour
 *   Google's metadata server, for Google Cloud Storage: it gives a token that is sent with each
 *     request, and requests are not signed
 *   the container's endpoint (EKS Pod Identity, ECS), which the variables of Amazon's SDKs name
 * If the options name a role, web identity comes before the keys of the Secret.
 */
#pragma once

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/options.h"
#include "sidecar/ship/s3_answer.h"

enum s3_identity_kind { IDENTITY_KEYS, IDENTITY_WEB, IDENTITY_CONTAINER, IDENTITY_GOOGLE };

struct s3_identity {
	enum s3_identity_kind kind;
	const struct ship_options *options;
	struct credentials credentials;
	struct sts_credentials given; /* temporary keys, used in place of the Secret's */
	int64_t renew_ns; /* CLOCK_BOOTTIME; 0: nothing was fetched yet */
	char token_header[CREDENTIAL_MAX + 32]; /* sent with each request; "": none */
};

/* Reads the Secret and chooses the identity. options must outlive it. The caller releases it. */
int s3_identity_open(struct s3_identity *id, const struct ship_options *options,
		     struct fault *fault);
/* Whether the keys come from a service whose certificate is judged. */
bool s3_identity_is_of_tls(const struct s3_identity *id);
void s3_identity_release(struct s3_identity *id);

/*
 * To be called before each request: fetches or renews credentials if that is due, else does
 * nothing.
 */
int s3_identity_renew(struct s3_identity *id, struct http *http, struct fault *fault);

/* Sets the members of request that sign it; scope: see http_request.sigv4. */
void s3_identity_sign(const struct s3_identity *id, const char *scope,
		      struct http_request *request);
