/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the requests of a store of objects. */
#include "sidecar/ship/object_store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Requests --- */

void object_add_params(struct strbuf *url, const struct object_param *params)
{
	for (const struct object_param *p = params; p->name; p++) {
		strbuf_addf(url, "%s%s=", p == params ? "?" : "&", p->name);
		store_query_encode(url, p->value);
	}
}

void object_add_header(struct object_call *call, const char *format, ...)
{
	const size_t room = sizeof(call->text) - call->used;
	va_list ap;

	va_start(ap, format);
	int len = vsnprintf(call->text + call->used, room, format, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= room || call->n_headers == OBJECT_HEADERS_MAX) {
		call->url.failed = true;
		return;
	}
	call->headers[call->n_headers++] = call->text + call->used;
	call->used += (size_t)len + 1;
}

int object_start(struct object_store *o, const struct object_request *r, struct object_call *call,
		 struct fault *fault)
{
	*call = (struct object_call){ .url = STRBUF_INIT(8 * OBJECT_KEY_MAX + CREDENTIAL_MAX),
				      .request = r->http };
	if (r->header)
		object_add_header(call, "%s", r->header);
	if (o->service->prepare(o, r, call, fault) < 0)
		return -1;
	if (strbuf_failed(&call->url))
		return fault_set(fault, FAULT_MEMORY, "URL and headers: out of memory");
	call->request.url = strbuf_str(&call->url);
	call->request.headers = call->headers;
	return http_start(o->http, &call->request, NULL, fault);
}

void object_call_release(struct object_call *call)
{
	credential_wipe(&call->url);
	strbuf_release(&call->url);
	explicit_bzero(call->text, call->used);
}

int object_call(struct object_store *o, const struct object_request *request,
		struct http_transfer **ret_transfer, struct fault *fault)
{
	struct object_call call;
	int r = object_start(o, request, &call, fault);

	*ret_transfer = NULL;
	if (r == 0)
		r = http_wait(o->http, ret_transfer, fault);
	object_call_release(&call);
	return r;
}

/* --- The store's operations --- */

int object_store_look(struct store *s, const struct item *item, enum look *ret_look,
		      struct fault *fault)
{
	struct object_store *o = (struct object_store *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	if (object_call(o, &(struct object_request){ .http.method = "HEAD", .key = key }, &t,
			fault) < 0)
		return -1;
	return object_look(&t->answer, item, ret_look) ? 0 : object_refused(o, &t->answer, fault);
}

static int object_put_single(struct object_store *o, const struct item *item, const char *key,
			     struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char md5[MD5_TEXT_MAX];
	/* clang-format off */
	const struct object_request request = {
		.http = { .method = "PUT", .fd = item->fd, .len = item->size, .on_sent = progress_sent, .arg = o->store.context->progress },
		.key = key, .sha256 = item->sha256, .md5 = md5, .creates = item, .header = o->service->put_header,
	};
	/* clang-format on */

	if (object_check_file(o->store.context, o->http, item, md5, fault) < 0 ||
	    object_call(o, &request, &t, fault) < 0)
		return -1;
	return t->answer.status == o->service->stored ? 0 : object_refused(o, &t->answer, fault);
}

int object_store_put(struct store *s, const struct item *item, struct fault *fault)
{
	struct object_store *o = (struct object_store *)s;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	return (item->size <= o->single_max ? object_put_single :
					      o->service->put_parts)(o, item, key, fault);
}

int object_store_get(struct store *s, const char *path, int64_t offset, size_t len,
		     struct strbuf *out, struct fault *fault)
{
	struct object_store *o = (struct object_store *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX], range[OBJECT_RANGE_MAX];

	object_key(s->context->options, path, key);
	object_range(o->service->range, offset, len, range);
	if (object_call(
		    o,
		    &(struct object_request){ .http.method = "GET", .key = key, .header = range },
		    &t, fault) < 0)
		return -1;
	if (o->service->is_missing(&t->answer))
		return 0;
	return object_take(&t->answer, offset, out) ? 0 : object_refused(o, &t->answer, fault);
}
