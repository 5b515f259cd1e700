/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a large file in parts. The upload's id is noted in the bundle as soon as the server gives
 * it. After a crash, the next run asks the server which parts it has (ListParts), and sends only
 * the others. The note also has the digest of the file, so parts of other content are never used.
 * All parts are read in order for the SHA-256 of the whole file, also those that the server has;
 * they are put together only if that equals the manifest's. An upload for this key that is not in
 * the note was begun by a run that died, and is aborted: S3 would keep its parts for ever, and
 * charge for them.
 */
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/s3.h"

/* With many parts S3 takes minutes to put them together. */
#define COMPLETE_STALL_S 600

struct sending; /* a part that is being sent */

struct multipart {
	struct s3 *s3;
	const struct item *item;
	const char *key;
	struct upload upload;
	struct s3_part *parts;
	size_t n;
	bool any_taken; /* the server has accepted a part of this run */
	struct sha256 sha256; /* of the file up to the next part */
	struct sending *sending;
};

struct sending {
	struct multipart *m;
	struct s3_call call;
	char query[3 * UPLOAD_ID_MAX + 64], sha256[SHA256_TEXT_MAX], md5[MD5_TEXT_MAX];
	size_t part;
	int64_t sent;
	bool busy;
};

static int64_t part_offset(const struct multipart *m, size_t i)
{
	return (int64_t)i * m->upload.part;
}

static int64_t part_size(const struct multipart *m, size_t i)
{
	return MIN(m->upload.part, m->item->size - part_offset(m, i));
}

/* Adds "NAME=VALUE" with VALUE encoded. */
static void s3_multipart_add_query(struct strbuf *query, const char *name, const char *value)
{
	strbuf_addf(query, "%s%s=", query->len ? "&" : "", name);
	store_query_encode(query, value);
}

static int s3_multipart_ask(struct multipart *m, struct s3_request *r, const struct strbuf *query, struct http_transfer **ret_transfer,
			    struct fault *fault)
{
	r->key = m->key;
	r->query = strbuf_str(query);
	return s3_call(m->s3, r, ret_transfer, fault);
}

/* --- Beginning --- */

static void abort_upload(const char *id, void *arg)
{
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(4 * UPLOAD_ID_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct multipart *m = arg;
	struct fault why;

	s3_multipart_add_query(&query, "uploadId", id);
	if (s3_multipart_ask(m, &(struct s3_request){ .method = "DELETE" }, &query, &t, &why) < 0 || t->answer.status >= 300)
		log_info("%s: an unfinished upload could not be aborted", m->item->name);
}

/*
 * This needs s3:ListBucketMultipartUploads. Without that right, a lifecycle rule of the bucket has
 * to remove old uploads.
 */
void s3_abort_uploads(struct s3 *s3, const struct item *item, const char *key)
{
	struct multipart m = { .s3 = s3, .item = item, .key = key };
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(4 * OBJECT_KEY_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct fault why;

	s3_multipart_add_query(&query, "prefix", key);
	strbuf_adds(&query, "&uploads=");
	if (s3_call(s3, &(struct s3_request){ .method = "GET", .key = "", .query = strbuf_str(&query) }, &t, &why) < 0)
		return;
	if (t->answer.status == 200)
		s3_list_uploads(strbuf_str(&t->answer.body), t->answer.body.len, key, abort_upload, &m, NULL);
}

/* Chooses a size so that the file has at most 10000 parts, which is S3's limit. */
static int64_t choose_part(int64_t size, int64_t wanted)
{
	while ((size + wanted - 1) / wanted > S3_PARTS_MAX)
		wanted *= 2;
	return wanted;
}

static int s3_multipart_create(struct multipart *m, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(64);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct err err = { 0 };

	strbuf_adds(&query, "uploads=");
	if (s3_multipart_ask(m, &(struct s3_request){ .method = "POST", .creates = m->item }, &query, &t, fault) < 0)
		return -1;
	if (t->answer.status != 200)
		return s3_refused(m->s3, &t->answer, fault);
	if (s3_upload_id(strbuf_str(&t->answer.body), t->answer.body.len, m->upload.id, &err) < 0)
		return fault_set(fault, FAULT_PROTOCOL, "beginning an upload: %s", err_text(&err));
	return 0;
}

static int s3_multipart_begin(struct multipart *m, struct fault *fault)
{
	struct state *state = m->s3->store.context->state;

	s3_abort_uploads(m->s3, m->item, m->key);
	m->upload = (struct upload){ .part = choose_part(m->item->size, m->s3->store.context->options->s3_part) };
	/*
	 * The note is written even before the upload exists: if we die in between, the next run
	 * looks for the upload.
	 */
	state_set_upload(state, m->item->name, m->item->sha256, &m->upload);
	state_save(state, NULL);
	if (s3_multipart_create(m, fault) < 0)
		return -1;
	state_set_upload(state, m->item->name, m->item->sha256, &m->upload);
	if (state_save(state, NULL) < 0)
		log_info("the bundle's directory cannot be written, so an upload that breaks off starts again from the beginning");
	return 0;
}

/* --- Continuing an upload --- */

/* *ret_gone is set if the server does not know the upload any more. */
static int s3_multipart_list_page(struct multipart *m, int64_t *marker, bool *ret_gone,
				  struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(4 * UPLOAD_ID_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct err err = { 0 };
	int64_t before = *marker;

	strbuf_addf(&query, "part-number-marker=%lld", (long long)*marker);
	s3_multipart_add_query(&query, "uploadId", m->upload.id);
	if (s3_multipart_ask(m, &(struct s3_request){ .method = "GET" }, &query, &t, fault) < 0)
		return -1;
	*ret_gone = t->answer.status == 404;
	if (*ret_gone)
		return 0;
	if (t->answer.status != 200)
		return s3_refused(m->s3, &t->answer, fault);
	if (s3_list_parts(strbuf_str(&t->answer.body), t->answer.body.len, m->parts, m->n, marker, &err) < 0)
		return fault_set(fault, FAULT_SERVER, "list of parts: %s", err_text(&err));
	if (*marker > 0 && *marker <= before)
		return fault_set(fault, FAULT_PROTOCOL, "the list of parts does not go on");
	return 0;
}

static void forget_parts(struct multipart *m)
{
	for (size_t i = 0; i < m->n; i++)
		m->parts[i] = (struct s3_part){ .size = -1 };
}

static int make_parts(struct multipart *m, struct fault *fault)
{
	m->n = (size_t)((m->item->size + m->upload.part - 1) / m->upload.part);
	if (m->n > S3_PARTS_MAX)
		return fault_set(fault, FAULT_NO_SPACE, "%s is larger than S3 takes", m->item->name);
	free(m->parts);
	m->parts = calloc(m->n, sizeof(*m->parts));
	if (!m->parts)
		return fault_set(fault, FAULT_MEMORY, "parts: out of memory");
	forget_parts(m);
	return 0;
}

/* Continues the upload of an earlier run if the server still knows it; otherwise begins a new upload. */
static int find_upload(struct multipart *m, struct fault *fault)
{
	struct state *state = m->s3->store.context->state;
	char md5[MD5_TEXT_MAX];
	bool gone = !state_upload(state, m->item->name, m->item->sha256, &m->upload);
	int64_t marker = 0;

	/*
	 * The file is read and checked first, because sending a damaged file once more would cost
	 * more.
	 */
	if (state_was_damaged(state, m->item->name, m->item->sha256) &&
	    object_check_file(m->s3->store.context, m->s3->http, m->item, md5, fault) < 0)
		return -1;
	if (!gone) {
		if (make_parts(m, fault) < 0)
			return -1;
		do
			if (s3_multipart_list_page(m, &marker, &gone, fault) < 0)
				return -1;
		while (!gone && marker > 0);
	}
	if (!gone)
		return 0;
	return s3_multipart_begin(m, fault) < 0 ? -1 : make_parts(m, fault);
}

/* --- Parts --- */

static void s3_multipart_tell_progress(struct multipart *m)
{
	int64_t sum = 0;

	for (size_t i = 0; i < m->n; i++)
		sum += m->parts[i].size >= 0 ? m->parts[i].size : 0;
	progress_kept(m->s3->store.context->progress, sum);
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		sum += m->sending[i].busy ? m->sending[i].sent : 0;
	progress_sent(m->s3->store.context->progress, sum);
}

static void on_part_sent(void *arg, int64_t sent)
{
	struct sending *s = arg;

	s->sent = sent;
	s3_multipart_tell_progress(s->m);
}

/*
 * Reads a part for its digests. An earlier run may have read it wrong, so the server's part is used
 * only if its ETag is the part's MD5. If the ETag is something else (as with SSE-KMS), the part is
 * sent again.
 */
static int s3_multipart_read_part(struct multipart *m, size_t i, struct sending *s, bool *ret_is_there, struct fault *fault)
{
	const int64_t size = part_size(m, i);
	struct s3_part *part = &m->parts[i];
	struct object_digest d = { .file = &m->sha256, .wants_md5 = true, .wants_sha256 = true };

	if (object_read(m->s3->store.context, m->s3->http, m->item, part_offset(m, i), size, &d, fault) < 0)
		return -1;
	*ret_is_there = part->size == size && s3_etag_is(part->etag, d.md5);
	if (!*ret_is_there)
		part->size = -1;
	memcpy(s->sha256, d.sha256, sizeof(s->sha256));
	memcpy(s->md5, d.md5_text, sizeof(s->md5));
	return 0;
}

static int start_part(struct multipart *m, struct sending *s, size_t part, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(sizeof(s->query) - 1);
	int64_t offset = part_offset(m, part), len = part_size(m, part);
	bool is_there = false;

	if (s3_multipart_read_part(m, part, s, &is_there, fault) < 0)
		return -1;
	if (is_there)
		return 0;
	strbuf_addf(&query, "partNumber=%zu", part + 1);
	s3_multipart_add_query(&query, "uploadId", m->upload.id);
	snprintf(s->query, sizeof(s->query), "%s", strbuf_str(&query));
	s->m = m;
	s->part = part;
	s->sent = 0;
	s->busy = true;
	return s3_start(m->s3,
			&(struct s3_request){ .method = "PUT", .key = m->key, .query = s->query, .sha256 = s->sha256,
					      .md5 = s->md5, .fd = m->item->fd, .offset = offset, .len = len,
					      .unasked = m->any_taken, .on_sent = on_part_sent, .arg = s },
			&s->call, fault);
}

/* Without memory no answer can be read any more, so all requests are dropped. */
static void s3_multipart_drop_all(struct multipart *m)
{
	http_cancel(m->s3->http);
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		if (m->sending[i].busy)
			s3_call_release(&m->sending[i].call);
		m->sending[i].busy = false;
	}
}

/* Waits until the request of any part has ended, with success or not. */
static int finish_part(struct multipart *m, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	int r = http_wait(m->s3->http, &t, fault);
	struct sending *s = t ? t->request->arg : NULL;

	if (!s) {
		s3_multipart_drop_all(m);
		return -1;
	}
	s->busy = false;
	if (r == 0 && t->answer.status != 200)
		r = s3_refused(m->s3, &t->answer, fault);
	else if (r == 0 && (!*t->answer.etag || strlen(t->answer.etag) >= S3_ETAG_MAX || strpbrk(t->answer.etag, "<>&")))
		r = fault_set(fault, FAULT_PROTOCOL, "a part was taken without an ETag");
	if (r == 0) {
		m->any_taken = true;
		m->parts[s->part].size = part_size(m, s->part);
		snprintf(m->parts[s->part].etag, S3_ETAG_MAX, "%s", t->answer.etag);
		s3_multipart_tell_progress(m);
	}
	s3_call_release(&s->call);
	return r;
}

static struct sending *s3_multipart_idle(struct multipart *m)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		if (!m->sending[i].busy)
			return &m->sending[i];
	return NULL;
}

static bool any_busy(const struct multipart *m)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		if (m->sending[i].busy)
			return true;
	return false;
}

/*
 * After a fault the other requests may still succeed. Each one leaves the next try a part less to
 * send.
 */
static int s3_multipart_send_parts(struct multipart *m, struct fault *fault)
{
	struct fault later;
	size_t next = 0;
	int r = 0;

	for (;;) {
		struct sending *s = s3_multipart_idle(m);

		if (r == 0 && next < m->n && s) {
			r = start_part(m, s, next++, fault);
			if (r < 0) {
				s->busy = false;
				s3_call_release(&s->call);
			}
		} else if (any_busy(m)) {
			int wait = finish_part(m, r == 0 ? fault : &later);

			r = r == 0 ? wait : r;
		} else {
			return r;
		}
	}
}

/* --- The end --- */

static void s3_multipart_add_parts(const struct multipart *m, struct strbuf *xml)
{
	strbuf_adds(xml, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	for (size_t i = 0; i < m->n; i++)
		strbuf_addf(xml, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", i + 1, m->parts[i].etag);
	strbuf_adds(xml, "</CompleteMultipartUpload>");
}

/* If the content is not that of the manifest, the parts are neither put together nor kept. */
static int check_whole(struct multipart *m, struct fault *fault)
{
	struct state *state = m->s3->store.context->state;

	if (object_check_sha256(m->item, &m->sha256, fault) == 0)
		return 0;
	abort_upload(m->upload.id, m);
	state_set_damaged(state, m->item->name, m->item->sha256);
	state_save(state, NULL);
	return -1;
}

/* S3 begins its answer with 200 before it knows the result. */
static int s3_multipart_complete(struct multipart *m, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT((size_t)4 << 20), query = STRBUF_INIT(4 * UPLOAD_ID_MAX);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char digest[SHA256_TEXT_MAX], code[64];
	struct s3_request request = { .method = "POST", .sha256 = digest, .header = "Content-Type: application/xml",
				      .stall_s = COMPLETE_STALL_S };

	s3_multipart_add_parts(m, &xml);
	if (strbuf_failed(&xml))
		return fault_set(fault, FAULT_MEMORY, "list of parts: out of memory");
	sha256_text(strbuf_str(&xml), xml.len, digest);
	request.body = strbuf_str(&xml);
	request.len = (int64_t)xml.len;
	s3_multipart_add_query(&query, "uploadId", m->upload.id);
	if (s3_multipart_ask(m, &request, &query, &t, fault) < 0)
		return -1;
	s3_error_code(&t->answer, code);
	if (t->answer.status == 200 && !*code)
		return 0;
	/*
	 * The server does not know the upload any more, or has other parts than we think. The next
	 * try starts from the beginning.
	 */
	if (strcmp(code, "NoSuchUpload") == 0 || strcmp(code, "InvalidPart") == 0)
		state_set_upload(m->s3->store.context->state, m->item->name, m->item->sha256, &(struct upload){ .part = m->upload.part });
	return s3_refused(m->s3, &t->answer, fault);
}

int s3_put_parts(struct s3 *s3, const struct item *item, const char *key, struct fault *fault)
{
	struct multipart m = { .s3 = s3, .item = item, .key = key };

	sha256_begin(&m.sha256);
	m.sending = calloc(HTTP_PARALLEL, sizeof(*m.sending));
	int r = m.sending ? find_upload(&m, fault) :
			    fault_set(fault, FAULT_MEMORY, "parts: out of memory");
	if (r == 0)
		r = s3_multipart_send_parts(&m, fault);
	if (r == 0)
		r = check_whole(&m, fault);
	if (r == 0)
		r = s3_multipart_complete(&m, fault);
	free(m.parts);
	free(m.sending);
	return r;
}
