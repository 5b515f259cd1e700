/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in Azure Blob Storage. The metadata "sha256" of a blob, which we set when we write it, identifies its content. A blob
 * appears whole or not at all: Azure promises that for Put Blob and for Put Block List. Each request has the MD5 of its body,
 * which Azure compares with the data that it received. Before a file counts as sent, its SHA-256 is compared with the manifest.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>

#include "lib/base64.h"
#include "lib/units.h"
#include "sidecar/ship/azure.h"

/*
 * This version is from 2021. Large blocks, SHA-256 and OAuth are older. What a version means never
 * changes.
 */
#define VERSION_HEADER "x-ms-version: 2021-12-02"

/* --- Requests ------------------------------------------------------------------------------------------- */

static void store_azure_add_header(struct azure_call *call, const char *header)
{
	size_t n = 0;

	while (call->headers[n])
		n++;
	if (n < AZURE_HEADERS_MAX)
		call->headers[n] = header;
}

static void store_azure_add_headers(struct azure_call *call, const struct azure_request *r)
{
	time_t now = (time_t)(now_realtime_ns() / NS_PER_SEC);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(call->date, sizeof(call->date), "x-ms-date: %a, %d %b %Y %H:%M:%S GMT", &tm))
		call->date[0] = '\0';
	store_azure_add_header(call, call->date);
	store_azure_add_header(call, VERSION_HEADER);
	if (r->md5) {
		snprintf(call->md5, sizeof(call->md5), "Content-MD5: %s", r->md5);
		store_azure_add_header(call, call->md5);
	}
	for (size_t i = 0; i < ARRAY_SIZE(r->headers) && r->headers[i]; i++)
		store_azure_add_header(call, r->headers[i]);
}

/* Appends the URL. *ret_path is the offset of its path, and the length. */
static void add_url(const struct azure *azure, const struct azure_request *r, struct strbuf *url, struct strbuf *path)
{
	const char *sas = azure_identity_sas(&azure->identity), *sign = "?";

	strbuf_addf(url, "%s/", azure->endpoint);
	store_path_encode(url, azure->place.container);
	strbuf_addc(url, '/');
	store_path_encode(url, r->key);
	strbuf_adds(path, strbuf_str(url) + http_origin_length(azure->endpoint));
	for (const struct azure_param *p = r->params; p->name; p++, sign = "&") {
		strbuf_addf(url, "%s%s=", sign, p->name);
		store_query_encode(url, p->value);
	}
	if (sas)
		strbuf_addf(url, "%s%s", sign, sas);
}

int azure_start(struct azure *azure, const struct azure_request *r, struct azure_call *call, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(8 * OBJECT_KEY_MAX);

	*call = (struct azure_call){ .url = STRBUF_INIT(8 * OBJECT_KEY_MAX + CREDENTIAL_MAX) };
	azure->place.is_signed = azure->identity.kind == AZURE_KEY;
	azure->place.has_expired = azure_sas_has_expired(azure_identity_sas(&azure->identity), now_realtime_ns() / NS_PER_SEC);
	if (azure_identity_renew(&azure->identity, azure->http, fault) < 0)
		return -1;
	add_url(azure, r, &call->url, &path);
	if (strbuf_failed(&call->url) || strbuf_failed(&path))
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	store_azure_add_headers(call, r);
	azure_identity_authorize(&azure->identity,
				 &(struct azure_to_sign){ .method = r->method, .account = azure->identity.account, .path = strbuf_str(&path),
							  .length = r->len, .md5 = r->md5 ? r->md5 : "", .headers = call->headers,
							  .params = r->params },
				 call->authorization, sizeof(call->authorization));
	if (*call->authorization)
		store_azure_add_header(call, call->authorization);
	call->request = (struct http_request){
		.method = r->method, .url = strbuf_str(&call->url), .headers = call->headers,
		.body = r->body, .fd = r->fd, .offset = r->offset, .len = r->len, .stall_s = r->stall_s, .unasked = r->unasked,
		.on_sent = r->on_sent, .arg = r->arg,
	};
	return http_start(azure->http, &call->request, NULL, fault);
}

void azure_call_release(struct azure_call *call)
{
	credential_wipe(&call->url);
	strbuf_release(&call->url);
	explicit_bzero(call->authorization, sizeof(call->authorization));
}

int azure_call(struct azure *azure, const struct azure_request *request, struct http_transfer **ret_transfer, struct fault *fault)
{
	struct azure_call call;
	int r = azure_start(azure, request, &call, fault);

	*ret_transfer = NULL;
	if (r == 0)
		r = http_wait(azure->http, ret_transfer, fault);
	azure_call_release(&call);
	return r;
}

void azure_blob_headers(const struct item *item, struct azure_blob_headers *h)
{
	snprintf(h->type, sizeof(h->type), "x-ms-blob-content-type: %s", plan_content_type(item->name));
	snprintf(h->meta, sizeof(h->meta), "x-ms-meta-sha256: %s", item->sha256);
}

/* --- Digests -------------------------------------------------------------------------------------------- */

int azure_md5(const char *text, size_t len, char ret_md5[static MD5_TEXT_MAX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	if (!EVP_Digest(text, len, bytes, NULL, EVP_md5(), NULL))
		return -1;
	base64_encode(bytes, 16, ret_md5);
	return 0;
}

/* --- The store's operations ----------------------------------------------------------------------------- */

static int azure_look(struct store *s, const struct item *item, enum look *ret_look, struct fault *fault)
{
	struct azure *azure = (struct azure *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	if (azure_call(azure, &(struct azure_request){ .method = "HEAD", .key = key }, &t, fault) < 0)
		return -1;
	return object_look(&t->answer, item, ret_look) ? 0 : azure_fault(&t->answer, &azure->place, fault);
}

static int store_azure_put_single(struct azure *azure, const struct item *item, const char *key, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct azure_blob_headers headers;
	char md5[MD5_TEXT_MAX] = "";
	const struct azure_request request = {
		.method = "PUT", .key = key, .md5 = md5, .headers = { "x-ms-blob-type: BlockBlob", headers.type, headers.meta },
		.fd = item->fd, .len = item->size, .on_sent = progress_sent, .arg = azure->store.context->progress,
	};

	if (object_check_file(azure->store.context, azure->http, item, md5, fault) < 0)
		return -1;
	azure_blob_headers(item, &headers);
	if (azure_call(azure, &request, &t, fault) < 0)
		return -1;
	return t->answer.status == 201 ? 0 : azure_fault(&t->answer, &azure->place, fault);
}

static int azure_put(struct store *s, const struct item *item, struct fault *fault)
{
	struct azure *azure = (struct azure *)s;
	const int64_t single_max = MIN(OBJECT_SINGLE_MAX, 2 * s->context->options->azure_block);
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	return item->size <= single_max ? store_azure_put_single(azure, item, key, fault) : azure_put_blocks(azure, item, key, fault);
}

static int azure_get(struct store *s, const char *path, int64_t offset, size_t len, struct strbuf *out, struct fault *fault)
{
	struct azure *azure = (struct azure *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX], range[OBJECT_RANGE_MAX];
	const struct azure_request request = { .method = "GET", .key = key, .headers = { range } };

	object_key(s->context->options, path, key);
	object_range("x-ms-range", offset, len, range);
	if (azure_call(azure, &request, &t, fault) < 0)
		return -1;
	if (azure_no_blob(&t->answer))
		return 0;
	return object_take(&t->answer, offset, out) ? 0 : azure_fault(&t->answer, &azure->place, fault);
}

static void azure_free(struct store *s)
{
	struct azure *azure = (struct azure *)s;

	http_free(azure->http);
	azure_identity_release(&azure->identity);
	free(azure);
}

/* --- Opening -------------------------------------------------------------------------------------------- */

static void store_azure_set_place(struct azure *azure)
{
	const struct ship_options *o = azure->store.context->options;
	size_t len;

	if (o->azure_endpoint)
		snprintf(azure->endpoint, sizeof(azure->endpoint), "%s", o->azure_endpoint);
	else
		snprintf(azure->endpoint, sizeof(azure->endpoint), "https://%s.blob.core.windows.net", o->store.host);
	for (len = strlen(azure->endpoint); len > 0 && azure->endpoint[len - 1] == '/'; len--)
		azure->endpoint[len - 1] = '\0';
	azure->place = (struct azure_place){ .container = o->store.container, .endpoint = azure->endpoint };
}

static int azure_open(struct store *s, struct fault *fault)
{
	struct azure *azure = (struct azure *)s;

	if (azure_identity_open(&azure->identity, s->context->options, fault) < 0)
		return -1;
	store_azure_set_place(azure);
	return store_http_new(s->context, azure->identity.credentials.ca, &azure->http, fault);
}

/*
 * An unfinished upload needs no cleaning up: Azure removes blocks that are in no list after a week,
 * or when a blob of that name is written.
 */
const struct store_ops store_azure_ops = {
	.size = sizeof(struct azure), .open = azure_open, .free = azure_free,
	.look = azure_look, .put = azure_put, .get = azure_get,
	.put_blindly_max = OBJECT_BLIND_MAX,
};
