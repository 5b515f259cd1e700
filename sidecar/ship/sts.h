/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges a web identity for keys of an hour. */
#pragma once

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/s3_answer.h"

/*
 * Gets the credentials of the role c->role_arn for c->web_identity_token from STS
 * (AssumeRoleWithWebIdentity). endpoint: such as "https://sts.REGION.amazonaws.com". The caller
 * releases the result.
 */
int sts_assume(struct http *http, const char *endpoint, const struct credentials *c,
	       struct sts_credentials *ret_credentials, struct fault *fault);
