/* SPDX-License-Identifier: Apache-2.0 */
/* Gets and cancels delegation tokens of a NameNode or of HttpFS. */
#include "sidecar/ship/webhdfs_identity.h"

#include <string.h>

#include "lib/log.h"
#include "sidecar/ship/negotiate.h"
#include "sidecar/ship/webhdfs_answer.h"

#define URL_MAX (2048 + 4 * CREDENTIAL_MAX)

int webhdfs_identity_open(struct webhdfs_identity *id, const struct ship_options *options,
			  struct fault *fault)
{
	struct credentials *c = &id->credentials;

	id->options = options;
	if (credentials_read(options->credentials, c, fault) < 0)
		return -1;
	if ((c->keytab || c->delegation_token) && !options->store.tls)
		log_warning(
			"the delegation token goes over the network in plain text: webhdfss:// would not do so");
	return c->keytab ? kerberos_new(c, &id->kerberos, fault) : 0;
}

void webhdfs_identity_release(struct webhdfs_identity *id)
{
	credential_forget(&id->token);
	kerberos_free(id->kerberos);
	credentials_release(&id->credentials);
}

void webhdfs_identity_begin_url(const struct webhdfs_identity *id, const char *path,
				const char *query, struct strbuf *url)
{
	const struct ship_options *o = id->options;

	strbuf_addf(url, "%s://%s/webhdfs/v1", o->store.tls ? "https" : "http", o->store.host);
	store_path_encode(url, path);
	strbuf_addf(url, "?op=%s", query);
}

static int webhdfs_identity_read_token(struct webhdfs_identity *id,
				       const struct http_answer *answer, struct fault *fault)
{
	const char *host = id->options->store.host;
	struct err err = { 0 };

	if (answer->status != 200)
		return webhdfs_ticket_fault(answer, host, kerberos_principal(id->kerberos), fault);
	if (webhdfs_read_token(answer, &id->token, &err) < 0)
		return fault_set(fault, FAULT_PROTOCOL, "HDFS at %s: %s", host, err_text(&err));
	log_debug("%s has a delegation token of HDFS at %s", kerberos_principal(id->kerberos),
		  host);
	return 0;
}

static int get_token(struct webhdfs_identity *id, struct http *http, const char *header,
		     struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT(URL_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	const char *headers[] = { header, NULL };
	struct http_request request = { .method = "GET", .headers = headers };

	webhdfs_identity_begin_url(id, "/", "GETDELEGATIONTOKEN", &url);
	if (strbuf_failed(&url))
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	request.url = strbuf_str(&url);
	int r = http_call(http, &request, &t, fault);
	if (r == 0)
		r = webhdfs_identity_read_token(id, &t->answer, fault);
	if (t)
		credential_wipe(&t->answer.body);
	return r;
}

int webhdfs_identity_renew(struct webhdfs_identity *id, struct http *http, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT(NEGOTIATE_HEADER_MAX);

	if (!id->kerberos || id->token)
		return 0;
	int r = kerberos_authorize(id->kerberos, id->options->store.host, &header, fault);
	if (r == 0)
		r = get_token(id, http, strbuf_str(&header), fault);
	credential_wipe(&header);
	return r;
}

void webhdfs_identity_add(const struct webhdfs_identity *id, struct strbuf *url)
{
	const char *token = id->kerberos ? id->token : id->credentials.delegation_token;

	if (token) {
		strbuf_adds(url, "&delegation=");
		store_query_encode(url, token);
	} else if (id->options->webhdfs_user) {
		strbuf_adds(url, "&user.name=");
		store_query_encode(url, id->options->webhdfs_user);
	}
}

bool webhdfs_identity_drop(struct webhdfs_identity *id)
{
	bool had = id->token != NULL;

	credential_forget(&id->token);
	return had;
}

void webhdfs_identity_end(struct webhdfs_identity *id, struct http *http)
{
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT(URL_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct fault why;

	if (!id->token)
		return;
	webhdfs_identity_begin_url(id, "/", "CANCELDELEGATIONTOKEN&token=", &url);
	store_query_encode(&url, id->token);
	webhdfs_identity_add(id, &url);
	if (!strbuf_failed(&url) &&
	    http_call(http, &(struct http_request){ .method = "PUT", .url = strbuf_str(&url) }, &t,
		      &why) == 0 &&
	    t->answer.status != 200)
		log_debug("HDFS at %s: the delegation token stays until it expires: status %d",
			  id->options->store.host, t->answer.status);
	credential_wipe(&url);
}
