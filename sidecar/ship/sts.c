/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges the token of a Kubernetes service account for credentials that are valid for an hour
 * (web identity).
 */
#include "sidecar/ship/sts.h"

#include <stdio.h>

#include "sidecar/ship/store_url.h"

#define BODY_MAX ((size_t)64 << 10)

static int sts_call(struct http *http, const char *endpoint, const struct strbuf *body,
		    struct http_transfer **ret_transfer, struct fault *fault)
{
	static const char *const headers[] = { "Content-Type: application/x-www-form-urlencoded",
					       NULL };
	char url[700];
	/* clang-format off */
	const struct http_request request = {
		.method = "POST", .url = url, .headers = headers, .body = strbuf_str(body), .len = (int64_t)body->len,
	};
	/* clang-format on */

	snprintf(url, sizeof(url), "%s/", endpoint);
	return http_call(http, &request, ret_transfer, fault);
}

int sts_assume(struct http *http, const char *endpoint, const struct credentials *c,
	       struct sts_credentials *ret_credentials, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf body = STRBUF_INIT(BODY_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const struct s3_place place = { .bucket = "(web identity)",
					.region = "",
					.endpoint = endpoint };
	struct err err = { 0 };

	strbuf_adds(
		&body,
		"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=afterglow-ship&RoleArn=");
	store_query_encode(&body, c->role_arn);
	strbuf_adds(&body, "&WebIdentityToken=");
	store_query_encode(&body, c->web_identity_token);
	if (strbuf_failed(&body))
		return fault_set(fault, FAULT_MEMORY, "web identity: out of memory");
	int r = sts_call(http, endpoint, &body, &t, fault);
	credential_wipe(&body);
	if (r < 0)
		return fault_wrap(fault, "web identity");
	if (t->answer.status != 200)
		return s3_fault(&t->answer, &place, fault);
	if (sts_read_credentials(strbuf_str(&t->answer.body), t->answer.body.len, ret_credentials,
				 &err) < 0)
		r = fault_set(fault, FAULT_PROTOCOL, "web identity: answer of %s: %s", endpoint,
			      err_text(&err));
	credential_wipe(&t->answer.body);
	return r;
}
