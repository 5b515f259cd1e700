/* SPDX-License-Identifier: Apache-2.0 */
/* Names objects of S3 and of Azure, and reads what the service answers about them. */
/*
 * MD5, too, is low-level code (lib/digest): where OpenSSL is configured for FIPS, the newer
 * interface has none.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sidecar/ship/object.h"

#include <openssl/md5.h>
#include <stdio.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/fileio.h"
#include "lib/units.h"

_Static_assert(MD5_TEXT_MAX == BASE64_MAX(16), "an MD5 in base64 fits");

#define CHUNK ((size_t)64 << 10)
/* Bytes to digest before requests under way are served again: half a millisecond. */
#define TURN_BYTES ((int64_t)1 << 20)

void object_key(const struct ship_options *o, const char *path, char ret_key[static OBJECT_KEY_MAX])
{
	snprintf(ret_key, OBJECT_KEY_MAX, "%s%s%s", o->store.path, *o->store.path ? "/" : "", path);
}

static enum look object_compare(const struct http_answer *a, const struct item *item)
{
	if (a->length != item->size)
		return LOOK_DIFFERS;
	/* Another tool copied the object and dropped its metadata. */
	if (!*a->sha256)
		return LOOK_UNKNOWN;
	return strcmp(a->sha256, item->sha256) == 0 ? LOOK_SAME : LOOK_DIFFERS;
}

bool object_look(const struct http_answer *a, const struct item *item, enum look *ret_look)
{
	if (a->status == 200)
		*ret_look = object_compare(a, item);
	else if (a->status == 404)
		*ret_look = LOOK_MISSING;
	else if (a->status == 403 || a->status == 400 || a->status == 401)
		*ret_look = LOOK_UNKNOWN;
	else
		return false;
	return true;
}

void object_range(const char *name, int64_t offset, size_t len,
		  char ret_header[static OBJECT_RANGE_MAX])
{
	snprintf(ret_header, OBJECT_RANGE_MAX, "%s: bytes=%lld-%lld", name, (long long)offset,
		 (long long)offset + (long long)len - 1);
}

bool object_take(const struct http_answer *a, int64_t offset, struct strbuf *out)
{
	/* 416: offset is at the end of the object, or beyond it. */
	if (a->status == 416)
		return true;
	/* A server without support for ranges sends the whole object. */
	if (a->status != 206 && (a->status != 200 || offset > 0))
		return false;
	strbuf_add(out, strbuf_str(&a->body), a->body.len);
	return true;
}

/* --- Digests --- */

struct piece {
	const struct store_context *context;
	struct http *http;
	const struct item *item;
	int64_t offset, len;
	struct object_digest *digest;
	MD5_CTX md5;
	struct sha256 sha256;
};

static int object_serve(const struct piece *p, struct fault *fault)
{
	const int64_t deadline = p->context->deadline_ns;
	struct fault later; /* an error that the wait for an answer reports */

	http_turn(p->http, &later);
	progress_alive(p->context->progress);
	return deadline > 0 && now_boottime_ns() >= deadline ?
		       fault_set(fault, FAULT_DEADLINE, "the deadline has passed") :
		       0;
}

/* At the beginning of the file the digest of the file equals that of the piece. */
static void object_add(struct piece *p, const void *data, size_t len)
{
	sha256_add(p->digest->file, data, len);
	if (p->digest->wants_sha256 && p->offset > 0)
		sha256_add(&p->sha256, data, len);
	MD5_Update(&p->md5, data, len);
}

static void object_end(struct piece *p)
{
	if (p->digest->wants_sha256) {
		if (p->offset == 0)
			p->sha256 = *p->digest->file;
		sha256_end(&p->sha256, p->digest->sha256);
	}
	MD5_Final(p->digest->md5, &p->md5);
	base64_encode(p->digest->md5, sizeof(p->digest->md5), p->digest->md5_text);
}

static int read_piece(struct piece *p, struct fault *fault)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	int64_t served = 0;

	if (!chunk)
		return fault_set(fault, FAULT_MEMORY, "%s: out of memory", p->item->name);
	for (int64_t at = 0; at < p->len;) {
		ssize_t n = fd_read_whole(p->item->fd, chunk,
					  (size_t)MIN((int64_t)CHUNK, p->len - at), p->offset + at);

		if (n <= 0)
			return fault_set(fault, n < 0 ? FAULT_IO : FAULT_BUNDLE_CHANGED,
					 "reading %s: %s", p->item->name,
					 n < 0 ? strerror((int)-n) : "it became shorter");
		object_add(p, chunk, (size_t)n);
		at += n;
		if (at - served < TURN_BYTES)
			continue;
		served = at;
		if (object_serve(p, fault) < 0)
			return -1;
	}
	object_end(p);
	return 0;
}

int object_read(const struct store_context *context, struct http *http, const struct item *item,
		int64_t offset, int64_t len, struct object_digest *digest, struct fault *fault)
{
	struct piece p = { .context = context,
			   .http = http,
			   .item = item,
			   .offset = offset,
			   .len = len,
			   .digest = digest };

	sha256_begin(&p.sha256);
	MD5_Init(&p.md5);
	return read_piece(&p, fault);
}

int object_check_sha256(const struct item *item, struct sha256 *file, struct fault *fault)
{
	char text[SHA256_TEXT_MAX];

	sha256_end(file, text);
	if (strcmp(text, item->sha256) == 0)
		return 0;
	return fault_set(fault, FAULT_BUNDLE_CHANGED, "%s is not what " PLAN_MANIFEST " says of it",
			 item->name);
}

int object_check_file(const struct store_context *context, struct http *http,
		      const struct item *item, char ret_md5[static MD5_TEXT_MAX],
		      struct fault *fault)
{
	struct sha256 file;
	struct object_digest d = { .file = &file };

	sha256_begin(&file);
	if (object_read(context, http, item, 0, item->size, &d, fault) < 0 ||
	    object_check_sha256(item, &file, fault) < 0)
		return -1;
	memcpy(ret_md5, d.md5_text, sizeof(d.md5_text));
	return 0;
}
