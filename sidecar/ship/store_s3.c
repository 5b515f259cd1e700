/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in S3. The metadata "sha256" of an object, which we set when we write it, identifies
 * its content. Without the permission to read (s3:GetObject) it is not visible, and the state file
 * decides instead. An object appears whole or not at all: S3 promises that for PUT and for
 * CompleteMultipartUpload.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ship/s3.h"

/* --- Time --- */

/* Our clock minus the store's, once that has refused a request for its time; 0: sign with our time. */
static int64_t store_s3_clock_off_s;

/*
 * Replaces the C library's function, because libcurl asks it for the time with which it signs. It would sign with an X-Amz-Date of
 * ours, too, but 7.88 then sends that header twice: MinIO finds the signature wrong. Certificates are judged by the store's time as well.
 */
time_t time(time_t *ret_now)
{
	const time_t now = (time_t)(now_realtime_ns() / NS_PER_SEC - store_s3_clock_off_s);

	if (ret_now)
		*ret_now = now;
	return now;
}

/* --- Requests --- */

static void store_s3_add_header(struct s3_call *call, const char *header)
{
	size_t n = 0;

	while (call->headers[n])
		n++;
	if (n + 1 < S3_HEADERS_MAX)
		call->headers[n] = header;
}

static void store_s3_add_object_headers(struct s3 *s3, const struct item *item, struct s3_call *call)
{
	snprintf(call->type_header, sizeof(call->type_header), "Content-Type: %s", plan_content_type(item->name));
	store_s3_add_header(call, call->type_header);
	s3_identity_meta(&s3->identity, item->sha256, call->meta_header);
	store_s3_add_header(call, call->meta_header);
	if (*s3->encryption_header)
		store_s3_add_header(call, s3->encryption_header);
	if (*s3->kms_key_header)
		store_s3_add_header(call, s3->kms_key_header);
	if (s3->store.context->options->s3_bucket_key)
		store_s3_add_header(call, "x-amz-server-side-encryption-bucket-key-enabled: true");
}

int s3_start(struct s3 *s3, const struct s3_request *r, struct s3_call *call, struct fault *fault)
{
	const bool is_signed = s3->identity.kind != IDENTITY_GOOGLE;

	*call = (struct s3_call){ .url = STRBUF_INIT(8 * OBJECT_KEY_MAX) };
	if (s3_identity_renew(&s3->identity, s3->http, fault) < 0)
		return -1;
	s3_url(&call->url, s3->endpoint, s3->path_style, s3->place.bucket, r->key, r->query);
	snprintf(call->sha256_header, sizeof(call->sha256_header), "x-amz-content-sha256: %s",
		 r->sha256 ? r->sha256 : S3_EMPTY_SHA256);
	if (is_signed)
		store_s3_add_header(call, call->sha256_header);
	snprintf(call->md5_header, sizeof(call->md5_header), "Content-MD5: %s", r->md5 ? r->md5 : "");
	if (r->md5)
		store_s3_add_header(call, call->md5_header);
	if (*s3->identity.token_header)
		store_s3_add_header(call, s3->identity.token_header);
	if (r->creates)
		store_s3_add_object_headers(s3, r->creates, call);
	if (r->header)
		store_s3_add_header(call, r->header);
	if (strbuf_failed(&call->url))
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	call->request = (struct http_request){
		.method = r->method, .url = strbuf_str(&call->url), .headers = call->headers,
		.body = r->body, .fd = r->fd, .offset = r->offset, .len = r->len, .stall_s = r->stall_s, .unasked = r->unasked,
		.on_sent = r->on_sent, .arg = r->arg,
	};
	s3_identity_sign(&s3->identity, s3->scope, &call->request);
	return http_start(s3->http, &call->request, NULL, fault);
}

void s3_call_release(struct s3_call *call)
{
	strbuf_release(&call->url);
}

int s3_refused(struct s3 *s3, struct http_answer *answer, struct fault *fault)
{
	/* Our clock is not to blame for a request that had the store's time. */
	answer->clock_off_s -= store_s3_clock_off_s;
	s3_fault(answer, &s3->place, fault);
	if (fault->kind != FAULT_CLOCK || store_s3_clock_off_s || !answer->clock_off_s)
		return -1;
	store_s3_clock_off_s = answer->clock_off_s;
	log_warning("%s; until then requests have the store's time", fault->text);
	fault->kind = FAULT_SERVER;
	fault->retry_after_s = 0;
	return -1;
}

int s3_call(struct s3 *s3, const struct s3_request *request, struct http_transfer **ret_transfer, struct fault *fault)
{
	struct s3_call call;
	int r = s3_start(s3, request, &call, fault);

	*ret_transfer = NULL;
	if (r == 0)
		r = http_wait(s3->http, ret_transfer, fault);
	s3_call_release(&call);
	return r;
}

/* --- The store's operations --- */

static int s3_look(struct store *s, const struct item *item, enum look *ret_look, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	if (s3_call(s3, &(struct s3_request){ .method = "HEAD", .key = key }, &t, fault) < 0)
		return -1;
	return object_look(&t->answer, item, ret_look) ? 0 : s3_refused(s3, &t->answer, fault);
}

static int store_s3_put_single(struct s3 *s3, const struct item *item, const char *key,
			       struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char md5[MD5_TEXT_MAX];
	const struct s3_request request = {
		.method = "PUT", .key = key, .sha256 = item->sha256, .md5 = md5, .creates = item, .fd = item->fd,
		.len = item->size, .on_sent = progress_sent, .arg = s3->store.context->progress,
	};

	if (object_check_file(s3->store.context, s3->http, item, md5, fault) < 0)
		return -1;
	if (s3_call(s3, &request, &t, fault) < 0)
		return -1;
	return t->answer.status == 200 ? 0 : s3_refused(s3, &t->answer, fault);
}

static int s3_put(struct store *s, const struct item *item, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)s;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	return item->size <= OBJECT_SINGLE_MAX ? store_s3_put_single(s3, item, key, fault) : s3_put_parts(s3, item, key, fault);
}

static int s3_get(struct store *s, const char *path, int64_t offset, size_t len, struct strbuf *out, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char key[OBJECT_KEY_MAX], range[OBJECT_RANGE_MAX], code[64];
	const struct s3_request request = { .method = "GET", .key = key, .header = range };

	object_key(s->context->options, path, key);
	object_range("Range", offset, len, range);
	if (s3_call(s3, &request, &t, fault) < 0)
		return -1;
	/* The body of a successful answer is that of the file, which may have any content. */
	if (t->answer.status == 404) {
		s3_error_code(&t->answer, code);
		if (strcmp(code, "NoSuchKey") == 0)
			return 0;
	}
	return object_take(&t->answer, offset, out) ? 0 : s3_refused(s3, &t->answer, fault);
}

static void s3_tidy(struct store *s, const struct item *item)
{
	struct s3 *s3 = (struct s3 *)s;
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	s3_abort_uploads(s3, item, key);
}

static void s3_free(struct store *s)
{
	struct s3 *s3 = (struct s3 *)s;

	http_free(s3->http);
	s3_identity_release(&s3->identity);
	free(s3);
}

/* --- Opening --- */

static void store_s3_set_place(struct s3 *s3)
{
	const struct ship_options *o = s3->store.context->options;

	if (o->s3_endpoint)
		snprintf(s3->endpoint, sizeof(s3->endpoint), "%s", o->s3_endpoint);
	else
		snprintf(s3->endpoint, sizeof(s3->endpoint), "https://s3.%s.amazonaws.com", o->s3_region);
	if (o->s3_encryption)
		snprintf(s3->encryption_header, sizeof(s3->encryption_header), "x-amz-server-side-encryption: %s", o->s3_encryption);
	if (o->s3_kms_key_id)
		snprintf(s3->kms_key_header, sizeof(s3->kms_key_header), "x-amz-server-side-encryption-aws-kms-key-id: %s",
			 o->s3_kms_key_id);
	snprintf(s3->scope, sizeof(s3->scope), "aws:amz:%.90s:s3", o->s3_region);
	s3->place = (struct s3_place){ .bucket = o->store.host, .region = o->s3_region, .endpoint = s3->endpoint };
	s3->path_style = o->s3_path_style || s3_needs_path_style(s3->endpoint, o->store.host);
}

static int s3_open(struct store *s, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)s;

	if (s3_identity_open(&s3->identity, s->context->options, fault) < 0)
		return -1;
	store_s3_set_place(s3);
	return store_http_new(s->context, s3->identity.credentials.ca, &s3->http, fault);
}

const struct store_ops store_s3_ops = {
	.size = sizeof(struct s3), .open = s3_open, .free = s3_free,
	.look = s3_look, .put = s3_put, .get = s3_get, .tidy = s3_tidy,
	.put_blindly_max = OBJECT_BLIND_MAX,
};
