/* SPDX-License-Identifier: Apache-2.0 */
/* Reads or fetches the keys and tokens for S3, and decides when they are fetched again. */
#include "sidecar/ship/s3_identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ship/store_url.h"
#include "sidecar/ship/token_answer.h"

/* The keys of a role are valid for an hour and are replaced well before. */
#define WEB_FOR_S (45 * 60)
/* The node's agent keeps keys for us and replaces them in time; asking it is cheap. */
#define CONTAINER_FOR_S (10 * 60)
/* The metadata server gives a token that is valid for at least five more minutes. */
#define GOOGLE_FOR_S (4 * 60)
#define STS_BODY_MAX ((size_t)64 << 10)
#define GOOGLE_TOKEN_URL "http://%s/computeMetadata/v1/instance/service-accounts/default/token"

/* --- Which identity --- */

/* The option has precedence over the file. */
static int take_role(struct s3_identity *id, struct fault *fault)
{
	const char *role = id->options->s3_role_arn;

	if (!role)
		return 0;
	free(id->credentials.role_arn);
	id->credentials.role_arn = strdup(role);
	return id->credentials.role_arn ? 0 : fault_set(fault, FAULT_MEMORY, "role: out of memory");
}

static int s3_identity_choose(struct s3_identity *id, struct fault *fault)
{
	const struct credentials *c = &id->credentials;
	const char *dir = id->options->credentials, *role = id->options->s3_role_arn;
	const char *where = dir ? dir : "", *in = dir ? "in " : "and there is no --credentials";

	if ((role || !c->access_key_id) && c->role_arn && c->web_identity_token)
		id->kind = IDENTITY_WEB;
	else if (role)
		return fault_set(fault, FAULT_CREDENTIALS,
				 "the role needs web-identity-token, %s%s", in, where);
	else if (c->access_key_id && c->secret_access_key)
		id->kind = IDENTITY_KEYS;
	else if (!c->access_key_id && endpoint_is_google(id->options->s3_endpoint))
		id->kind = IDENTITY_GOOGLE;
	else if (!c->access_key_id && getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
		id->kind = IDENTITY_CONTAINER;
	else
		return fault_set(
			fault, FAULT_CREDENTIALS,
			"S3 needs access-key-id and secret-access-key, or role-arn and web-identity-token, %s%s; or the "
			"variables of EKS Pod Identity",
			in, where);
	return 0;
}

bool s3_identity_is_of_tls(const struct s3_identity *id)
{
	const char *sts = id->options->s3_sts_endpoint;

	return id->kind == IDENTITY_WEB && !(sts && strncmp(sts, "http://", 7) == 0);
}

int s3_identity_open(struct s3_identity *id, const struct ship_options *options,
		     struct fault *fault)
{
	id->options = options;
	if (credentials_read(options->credentials, &id->credentials, fault) < 0)
		return -1;
	if (take_role(id, fault) < 0 || s3_identity_choose(id, fault) < 0)
		return -1;
	if (id->kind == IDENTITY_WEB && !s3_identity_is_of_tls(id))
		log_warning(
			"the web identity token goes over the network in plain text: an https:// address of STS would not do so");
	if (id->kind == IDENTITY_KEYS && id->credentials.session_token)
		snprintf(id->token_header, sizeof(id->token_header), "x-amz-security-token: %s",
			 id->credentials.session_token);
	return 0;
}

void s3_identity_release(struct s3_identity *id)
{
	sts_credentials_release(&id->given);
	credentials_release(&id->credentials);
	explicit_bzero(id->token_header, sizeof(id->token_header));
}

/* --- Web identity --- */

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

/*
 * Exchanges the token of a Kubernetes service account for credentials of the role c->role_arn that
 * are valid for an hour (AssumeRoleWithWebIdentity). endpoint: such as
 * "https://sts.REGION.amazonaws.com". The caller releases the result.
 */
static int sts_assume(struct http *http, const char *endpoint, const struct credentials *c,
		      struct sts_credentials *ret_credentials, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf body = STRBUF_INIT(STS_BODY_MAX);
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

/* --- Fetching --- */

/* The kubelet replaces a projected token long before our keys expire. */
static int read_token_again(struct s3_identity *id, struct fault *fault)
{
	struct credentials now;

	if (credentials_read(id->options->credentials, &now, fault) < 0)
		return -1;
	if (now.web_identity_token) {
		char *old = id->credentials.web_identity_token;

		id->credentials.web_identity_token = now.web_identity_token;
		now.web_identity_token = old; /* wiped and freed below */
	}
	credentials_release(&now);
	return 0;
}

static int ask_sts(struct s3_identity *id, struct http *http, struct fault *fault)
{
	char endpoint[256];

	if (id->renew_ns > 0 && read_token_again(id, fault) < 0)
		return -1;
	snprintf(endpoint, sizeof(endpoint), "https://sts.%s.amazonaws.com",
		 id->options->s3_region);
	sts_credentials_release(&id->given);
	return sts_assume(http,
			  id->options->s3_sts_endpoint ? id->options->s3_sts_endpoint : endpoint,
			  &id->credentials, &id->given, fault);
}

/* Asks a service on the node itself, without a proxy. */
static int ask_node(struct http *http, const char *what, const char *url, const char *header,
		    struct http_transfer **ret_transfer, struct fault *fault)
{
	const char *const headers[] = { header, NULL };
	const struct http_request request = {
		.method = "GET", .url = url, .headers = headers, .no_proxy = true
	};

	if (http_call(http, &request, ret_transfer, fault) < 0)
		return fault_wrap(fault, "%s", what);
	int status = (*ret_transfer)->answer.status;
	if (status == 200)
		return 0;
	/* The agent answers 4xx if the ServiceAccount has no association with a role. */
	return fault_set(fault, status == 429 || status >= 500 ? FAULT_SERVER : FAULT_CREDENTIALS,
			 "%s: %.*s answered %d", what, http_origin_length(url), url, status);
}

static int ask_container_endpoint(struct s3_identity *id, struct http *http, struct fault *fault)
{
	static const char what[] = "pod identity";
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const char *uri = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		   *path = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	_cleanup_credential_ char *token = NULL;
	char header[CREDENTIAL_MAX + 32];
	struct err err = { 0 };

	if (!uri || !container_uri_is_safe(uri))
		return fault_set(
			fault, FAULT_CREDENTIALS,
			"%s: AWS_CONTAINER_CREDENTIALS_FULL_URI names no address of EKS or ECS",
			what);
	/* The kubelet replaces the token from time to time, so it is read each time. */
	if (path && credential_read_file(path, &token, fault) < 0)
		return fault_wrap(fault, what);
	snprintf(header, sizeof(header), "Authorization: %s", token ? token : "");
	int r = ask_node(http, what, uri, token ? header : NULL, &t, fault);
	explicit_bzero(header, sizeof(header));
	if (r < 0)
		return r;
	sts_credentials_release(&id->given);
	if (container_read_credentials(strbuf_str(&t->answer.body), t->answer.body.len, &id->given,
				       &err) < 0)
		r = fault_set(fault, FAULT_PROTOCOL, "%s: answer of %.*s: %s", what,
			      http_origin_length(uri), uri, err_text(&err));
	credential_wipe(&t->answer.body);
	return r;
}

static int ask_google(struct s3_identity *id, struct http *http, int64_t *ret_seconds,
		      struct fault *fault)
{
	static const char what[] = "workload identity";
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const char *host = getenv("GCE_METADATA_HOST");
	_cleanup_credential_ char *token = NULL;
	struct err err = { 0 };
	char url[256];

	snprintf(url, sizeof(url), GOOGLE_TOKEN_URL, host ? host : "metadata.google.internal");
	if (ask_node(http, what, url, "Metadata-Flavor: Google", &t, fault) < 0)
		return -1;
	int r = oauth_read_token(strbuf_str(&t->answer.body), t->answer.body.len, &token,
				 ret_seconds, &err);
	credential_wipe(&t->answer.body);
	if (r < 0)
		return fault_set(fault, FAULT_PROTOCOL, "%s: answer of %s: %s", what, url,
				 err_text(&err));
	snprintf(id->token_header, sizeof(id->token_header), "Authorization: Bearer %s", token);
	return 0;
}

static int s3_identity_fetch(struct s3_identity *id, struct http *http, int64_t *ret_seconds,
			     struct fault *fault)
{
	int64_t seconds = 0;
	int r;

	if (id->kind == IDENTITY_GOOGLE) {
		r = ask_google(id, http, &seconds, fault);
		*ret_seconds = MIN(seconds / 2, GOOGLE_FOR_S);
		return r;
	}
	r = id->kind == IDENTITY_WEB ? ask_sts(id, http, fault) :
				       ask_container_endpoint(id, http, fault);
	if (r == 0)
		snprintf(id->token_header, sizeof(id->token_header), "x-amz-security-token: %s",
			 id->given.session_token);
	*ret_seconds = id->kind == IDENTITY_WEB ? WEB_FOR_S : CONTAINER_FOR_S;
	return r;
}

int s3_identity_renew(struct s3_identity *id, struct http *http, struct fault *fault)
{
	int64_t seconds;

	if (id->kind == IDENTITY_KEYS || (id->renew_ns > 0 && now_boottime_ns() < id->renew_ns))
		return 0;
	if (s3_identity_fetch(id, http, &seconds, fault) < 0)
		return -1;
	id->renew_ns = now_boottime_ns() + seconds * NS_PER_SEC;
	return 0;
}

/* --- A request --- */

void s3_identity_sign(const struct s3_identity *id, const char *scope, struct http_request *request)
{
	const struct sts_credentials *given = &id->given;

	if (id->kind == IDENTITY_GOOGLE)
		return;
	request->sigv4 = scope;
	request->user = given->access_key_id ? given->access_key_id : id->credentials.access_key_id;
	request->password = given->secret_access_key ? given->secret_access_key :
						       id->credentials.secret_access_key;
}
