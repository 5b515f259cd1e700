/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in Azure Blob Storage. The metadata "sha256" of a blob, which we set when we write it,
 * identifies its content. A blob appears whole or not at all: Azure promises that for Put Blob and
 * for Put Block List. Each request has the MD5 of its body, which Azure compares with the data that
 * it received. Before a file counts as sent, its SHA-256 is compared with the manifest.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/units.h"
#include "sidecar/ship/azure.h"

/*
 * This version is from 2021. Large blocks, SHA-256 and OAuth are older. What a version means never
 * changes.
 */
#define VERSION_HEADER "x-ms-version: 2021-12-02"

/*
 * --- Requests
 * -------------------------------------------------------------------------------------------
 */

static void store_azure_add_headers(struct object_call *call, const struct item *creates)
{
	time_t now = (time_t)(now_realtime_ns() / NS_PER_SEC);
	char date[64];
	struct tm tm;

	if (gmtime_r(&now, &tm) &&
	    strftime(date, sizeof(date), "x-ms-date: %a, %d %b %Y %H:%M:%S GMT", &tm))
		object_add_header(call, "%s", date);
	object_add_header(call, VERSION_HEADER);
	if (!creates)
		return;
	object_add_header(call, "x-ms-blob-content-type: %s", plan_content_type(creates->name));
	object_add_header(call, "x-ms-meta-sha256: %s", creates->sha256);
}

static int azure_prepare(struct object_store *o, const struct object_request *r,
			 struct object_call *call, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(8 * OBJECT_KEY_MAX);
	struct azure *azure = (struct azure *)o;
	const char *sas = azure_identity_sas(&azure->identity);
	char authorization[CREDENTIAL_MAX + 64];

	azure->place.is_signed = azure->identity.kind == AZURE_KEY;
	azure->place.has_expired = azure_sas_has_expired(sas, now_realtime_ns() / NS_PER_SEC);
	if (azure_identity_renew(&azure->identity, o->http, fault) < 0)
		return -1;
	strbuf_addf(&call->url, "%s/", azure->endpoint);
	store_path_encode(&call->url, azure->place.container);
	strbuf_addc(&call->url, '/');
	store_path_encode(&call->url, r->key);
	strbuf_adds(&path, strbuf_str(&call->url) + http_origin_length(azure->endpoint));
	if (strbuf_failed(&path))
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	object_add_params(&call->url, r->params);
	if (sas)
		strbuf_addf(&call->url, "%s%s", r->params->name ? "&" : "?", sas);
	if (r->md5)
		object_add_header(call, "Content-MD5: %s", r->md5);
	store_azure_add_headers(call, r->creates);
	azure_identity_authorize(&azure->identity,
				 &(struct azure_to_sign){ .method = r->http.method,
							  .account = azure->identity.account,
							  .path = strbuf_str(&path),
							  .length = r->http.len,
							  .md5 = r->md5 ? r->md5 : "",
							  .headers = call->headers,
							  .params = r->params },
				 authorization, sizeof(authorization));
	if (*authorization)
		object_add_header(call, "%s", authorization);
	explicit_bzero(authorization, sizeof(authorization));
	return 0;
}

static int azure_refused(struct object_store *o, struct http_answer *answer, struct fault *fault)
{
	return azure_fault(answer, &((struct azure *)o)->place, fault);
}

/* clang-format off */
static const struct object_service azure_service = {
	.range = "x-ms-range", .put_header = "x-ms-blob-type: BlockBlob", .stored = 201,
	.prepare = azure_prepare, .refused = azure_refused, .is_missing = azure_no_blob, .put_parts = azure_put_blocks,
};
/* clang-format on */

/* --- The store --- */

static void azure_free(struct store *s)
{
	struct azure *azure = (struct azure *)s;

	http_free(azure->objects.http);
	azure_identity_release(&azure->identity);
	free(azure);
}

static void store_azure_set_place(struct azure *azure)
{
	const struct ship_options *o = azure->objects.store.context->options;
	size_t len;

	if (o->azure_endpoint)
		snprintf(azure->endpoint, sizeof(azure->endpoint), "%s", o->azure_endpoint);
	else
		snprintf(azure->endpoint, sizeof(azure->endpoint),
			 "https://%s.blob.core.windows.net", o->store.host);
	for (len = strlen(azure->endpoint); len > 0 && azure->endpoint[len - 1] == '/'; len--)
		azure->endpoint[len - 1] = '\0';
	azure->place = (struct azure_place){ .container = o->store.container,
					     .endpoint = azure->endpoint };
}

static int azure_open(struct store *s, struct fault *fault)
{
	struct azure *azure = (struct azure *)s;

	if (azure_identity_open(&azure->identity, s->context->options, fault) < 0)
		return -1;
	store_azure_set_place(azure);
	azure->objects.service = &azure_service;
	azure->objects.single_max = MIN(OBJECT_SINGLE_MAX, 2 * s->context->options->azure_block);
	return store_http_new(s->context, azure->identity.credentials.ca, &azure->objects.http,
			      fault);
}

/*
 * An unfinished upload needs no cleaning up: Azure removes blocks that are in no list after a week,
 * or when a blob of that name is written.
 */
/* clang-format off */
const struct store_ops store_azure_ops = {
	.size = sizeof(struct azure), .open = azure_open, .free = azure_free,
	.look = object_store_look, .put = object_store_put, .get = object_store_get,
	.put_blindly_max = OBJECT_BLIND_MAX,
};
/* clang-format on */
