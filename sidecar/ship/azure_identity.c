/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the keys and tokens for Azure, and decides when a token is fetched anew. */
#include "sidecar/ship/azure_identity.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ship/token_answer.h"

/* Entra's tokens are valid for an hour or a day, and are replaced well before. */
#define TOKEN_FOR_S (30 * 60)
#define AUTHORITY "https://login.microsoftonline.com/"
#define SCOPE "https://storage.azure.com/.default" /* the same for all Azure clouds */
#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define TEXT_MAX ((size_t)64 << 10)

static const char what[] = "workload identity";

/* --- Which identity -------------------------------------------------------------------------- */

/* Checks a SAS token such as "sv=...&sig=...". It is put into a URL unchanged. */
static bool is_sas(const char *token)
{
	return strstr(token, "sig=") && !strpbrk(token, "#?\"<>\\^`{|}");
}

static int take_key(struct azure_identity *id, struct fault *fault)
{
	struct err err = { 0 };

	id->kind = AZURE_KEY;
	if (azure_key_decode(id->credentials.account_key, id->key, &id->key_len, &err) < 0)
		return fault_set(fault, FAULT_CREDENTIALS, "credential account-key: %s",
				 err_text(&err));
	return 0;
}

/*
 * Refuses or warns if a token would be sent unencrypted: whoever reads it could use it. A key only
 * signs and is never sent.
 */
static int check_plain_text(const struct azure_identity *id, const char *endpoint,
			    struct fault *fault)
{
	if (!endpoint || strncmp(endpoint, "http://", 7) != 0 || id->kind == AZURE_KEY)
		return 0;
	if (id->kind == AZURE_WORKLOAD)
		return fault_set(fault, FAULT_CREDENTIALS,
				 "%s: a token is sent by https alone, not to %s", what, endpoint);
	log_warning("the SAS token goes over the network in plain text: https:// would not do so");
	return 0;
}

int azure_identity_open(struct azure_identity *id, const struct ship_options *options,
			struct fault *fault)
{
	struct credentials *c = &id->credentials;
	int r = 0;

	id->account = options->store.host;
	if (credentials_read(options->credentials, c, fault) < 0)
		return -1;
	if (c->sas_token && !is_sas(c->sas_token + (c->sas_token[0] == '?')))
		r = fault_set(fault, FAULT_CREDENTIALS,
			      "credential sas-token is no SAS token, such as sv=...&sig=...");
	else if (c->sas_token)
		id->kind = AZURE_SAS;
	else if (c->account_key)
		r = take_key(id, fault);
	else if (getenv("AZURE_FEDERATED_TOKEN_FILE"))
		id->kind = AZURE_WORKLOAD;
	else
		r = fault_set(
			fault, FAULT_CREDENTIALS,
			"Azure needs account-key or sas-token, %s%s; or the variables of AKS workload identity, which pods with the label "
			"azure.workload.identity/use: \"true\" get",
			options->credentials ? "in " : "and there is no --credentials",
			options->credentials ? options->credentials : "");
	return r < 0 ? r : check_plain_text(id, options->azure_endpoint, fault);
}

void azure_identity_release(struct azure_identity *id)
{
	credentials_release(&id->credentials);
	explicit_bzero(id->key, sizeof(id->key));
	explicit_bzero(id->bearer_header, sizeof(id->bearer_header));
}

/*
 * --- Workload identity
 * ----------------------------------------------------------------------------------
 */

/* Checks an id or the name of a tenant, which becomes a part of a URL. */
static bool azure_identity_is_id(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len == 0 || len > 255)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '-' && *s != '.')
			return false;
	return true;
}

static int azure_identity_make_url(char *url, size_t size, struct fault *fault)
{
	const char *host = getenv("AZURE_AUTHORITY_HOST"), *tenant = getenv("AZURE_TENANT_ID");

	if (!host || !*host)
		host = AUTHORITY;
	if (!azure_identity_is_id(tenant))
		return fault_set(fault, FAULT_CREDENTIALS, "%s: AZURE_TENANT_ID names no tenant",
				 what);
	if (!container_uri_is_safe(host) || strpbrk(host, "?#"))
		return fault_set(fault, FAULT_CREDENTIALS,
				 "%s: AZURE_AUTHORITY_HOST is no address such as " AUTHORITY, what);
	snprintf(url, size, "%s%s%s/oauth2/v2.0/token", host,
		 host[strlen(host) - 1] == '/' ? "" : "/", tenant);
	return 0;
}

/*
 * Makes the form of an OAuth request for a client's token. A token of Kubernetes takes the place of
 * the client's secret.
 */
static int make_form(struct strbuf *form, struct fault *fault)
{
	const char *client = getenv("AZURE_CLIENT_ID");
	_cleanup_credential_ char *token = NULL;

	if (!azure_identity_is_id(client))
		return fault_set(
			fault, FAULT_CREDENTIALS,
			"%s: AZURE_CLIENT_ID names no client: does the ServiceAccount have the annotation "
			"azure.workload.identity/client-id?",
			what);
	/* The kubelet replaces the token from time to time, so it is read each time. */
	if (credential_read_file(getenv("AZURE_FEDERATED_TOKEN_FILE"), &token, fault) < 0)
		return fault_wrap(fault, "%s", what);
	strbuf_addf(form, "grant_type=client_credentials&client_id=%s&scope=", client);
	store_query_encode(form, SCOPE);
	strbuf_adds(form, "&client_assertion_type=");
	store_query_encode(form, ASSERTION_TYPE);
	strbuf_adds(form, "&client_assertion=");
	store_query_encode(form, token);
	return strbuf_failed(form) ? fault_set(fault, FAULT_MEMORY, "%s: out of memory", what) : 0;
}

static int azure_identity_refused(const struct http_answer *a, const char *url, struct fault *fault)
{
	enum fault_kind kind =
		a->status == 429 || a->status >= 500 ? FAULT_SERVER : FAULT_CREDENTIALS;
	char why[OAUTH_ERROR_MAX];

	oauth_read_error(strbuf_str(&a->body), a->body.len, why);
	/* This error means: the client assertion is not within its valid time range. */
	if (strstr(why, "AADSTS700024"))
		kind = FAULT_EXPIRED;
	fault_set(fault, kind, "%s: %.*s answered %d%s%s", what, http_origin_length(url), url,
		  a->status, *why ? ": " : "", why);
	if (a->retry_after_s > 0)
		fault->retry_after_s = a->retry_after_s;
	return -1;
}

static int take_token(struct azure_identity *id, const struct http_answer *a, const char *url,
		      int64_t *ret_seconds, struct fault *fault)
{
	_cleanup_credential_ char *token = NULL;
	struct err err = { 0 };

	if (a->status != 200)
		return azure_identity_refused(a, url, fault);
	if (oauth_read_token(strbuf_str(&a->body), a->body.len, &token, ret_seconds, &err) < 0)
		return fault_set(fault, FAULT_PROTOCOL, "%s: answer of %.*s: %s", what,
				 http_origin_length(url), url, err_text(&err));
	snprintf(id->bearer_header, sizeof(id->bearer_header), "Authorization: Bearer %s", token);
	return 0;
}

static int azure_identity_exchange(struct azure_identity *id, struct http *http,
				   int64_t *ret_seconds, struct fault *fault)
{
	static const char *const headers[] = { "Content-Type: application/x-www-form-urlencoded",
					       NULL };
	_cleanup_strbuf_ struct strbuf form = STRBUF_INIT(TEXT_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char url[900];
	struct http_request request = { .method = "POST", .url = url, .headers = headers };
	int r = azure_identity_make_url(url, sizeof(url), fault);

	if (r == 0)
		r = make_form(&form, fault);
	request.body = strbuf_str(&form);
	request.len = (int64_t)form.len;
	if (r == 0 && http_call(http, &request, &t, fault) < 0)
		r = fault_wrap(fault, "%s", what);
	credential_wipe(&form);
	if (r < 0)
		return r;
	r = take_token(id, &t->answer, url, ret_seconds, fault);
	credential_wipe(&t->answer.body);
	return r;
}

int azure_identity_renew(struct azure_identity *id, struct http *http, struct fault *fault)
{
	int64_t seconds = 0;

	if (id->kind != AZURE_WORKLOAD || (id->renew_ns > 0 && now_boottime_ns() < id->renew_ns))
		return 0;
	if (azure_identity_exchange(id, http, &seconds, fault) < 0)
		return -1;
	id->renew_ns = now_boottime_ns() + MIN(seconds / 2, TOKEN_FOR_S) * NS_PER_SEC;
	return 0;
}

/*
 * --- A request
 * ------------------------------------------------------------------------------------------
 */

const char *azure_identity_sas(const struct azure_identity *id)
{
	const char *token = id->credentials.sas_token;

	return id->kind == AZURE_SAS ? token + (*token == '?') : NULL;
}

void azure_identity_authorize(const struct azure_identity *id, const struct azure_to_sign *request,
			      char *ret_header, size_t size)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	char signature[AZURE_SIGNATURE_MAX];

	ret_header[0] = '\0';
	if (id->kind == AZURE_WORKLOAD)
		snprintf(ret_header, size, "%s", id->bearer_header);
	if (id->kind != AZURE_KEY)
		return;
	azure_text_to_sign(&text, request);
	azure_sign(id->key, id->key_len, strbuf_str(&text), signature);
	snprintf(ret_header, size, "Authorization: SharedKey %s:%s", id->account, signature);
}
