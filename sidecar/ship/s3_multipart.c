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
#include "sidecar/ship/object_parts.h"
#include "sidecar/ship/s3.h"

/* With many parts S3 takes minutes to put them together. */
#define COMPLETE_STALL_S 600

struct multipart {
	struct parts parts;
	struct upload upload;
	struct s3_part *listed; /* of each part, what the server has */
};

static struct state *s3_multipart_state(const struct multipart *m)
{
	return m->parts.store->store.context->state;
}

static void s3_multipart_note(struct multipart *m, const struct upload *upload)
{
	state_set_upload(s3_multipart_state(m), m->parts.item->name, m->parts.item->sha256, upload);
}

static int s3_multipart_ask(struct multipart *m, struct object_request r,
			    struct http_transfer **ret_transfer, struct fault *fault)
{
	r.key = m->parts.key;
	return object_call(m->parts.store, &r, ret_transfer, fault);
}

static bool s3_multipart_is_aws(const struct multipart *m)
{
	return ((const struct s3 *)m->parts.store)->is_aws;
}

/* --- Beginning --- */

static void abort_upload(const char *id, void *arg)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct multipart *m = arg;
	struct fault why;

	if (s3_multipart_ask(m,
			     (struct object_request){ .http.method = "DELETE",
						      .params = { { "uploadId", id } } },
			     &t, &why) < 0 ||
	    t->answer.status >= 300)
		log_info("%s: an unfinished upload could not be aborted", m->parts.item->name);
}

/*
 * This needs s3:ListBucketMultipartUploads. Without that right, a lifecycle rule of the bucket has
 * to remove old uploads.
 */
void s3_abort_uploads(struct object_store *o, const struct item *item, const char *key)
{
	struct multipart m = { .parts = { .store = o, .item = item, .key = key } };
	const struct object_request request = {
		.http.method = "GET", .key = "", .params = { { "prefix", key }, { "uploads", "" } }
	};
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct fault why;

	if (object_call(o, &request, &t, &why) == 0 && t->answer.status == 200)
		s3_list_uploads(strbuf_str(&t->answer.body), t->answer.body.len, key, abort_upload,
				&m, NULL);
}

static int s3_multipart_create(struct multipart *m, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct err err = { 0 };

	if (s3_multipart_ask(m,
			     (struct object_request){ .http.method = "POST",
						      .params = { { "uploads", "" } },
						      .creates = m->parts.item },
			     &t, fault) < 0)
		return -1;
	if (t->answer.status != 200)
		return object_refused(m->parts.store, &t->answer, fault);
	if (s3_upload_id(strbuf_str(&t->answer.body), t->answer.body.len, m->upload.id, &err) < 0)
		return fault_set(fault, FAULT_PROTOCOL, "beginning an upload: %s", err_text(&err));
	return 0;
}

/* Cuts the file into parts of which the server has none. */
static int s3_multipart_cut(struct multipart *m, int64_t wanted, struct fault *fault)
{
	if (parts_cut(&m->parts, wanted, fault) < 0)
		return -1;
	free(m->listed);
	m->listed = calloc(m->parts.n, sizeof(*m->listed));
	if (!m->listed)
		return fault_set(fault, FAULT_MEMORY, "parts: out of memory");
	for (size_t i = 0; i < m->parts.n; i++)
		m->listed[i].size = -1;
	return 0;
}

static int s3_multipart_begin(struct multipart *m, struct fault *fault)
{
	s3_abort_uploads(m->parts.store, m->parts.item, m->parts.key);
	if (s3_multipart_cut(m, m->parts.store->store.context->options->s3_part, fault) < 0)
		return -1;
	m->upload = (struct upload){ .part = m->parts.size, .sha256 = s3_multipart_is_aws(m) };
	/*
	 * The note is written even before the upload exists: if we die in between, the next run
	 * looks for the upload.
	 */
	s3_multipart_note(m, &m->upload);
	state_save(s3_multipart_state(m), NULL);
	if (s3_multipart_create(m, fault) < 0)
		return -1;
	s3_multipart_note(m, &m->upload);
	if (state_save(s3_multipart_state(m), NULL) < 0)
		log_info(
			"the bundle's directory cannot be written, so an upload that breaks off starts again from the beginning");
	return 0;
}

/* --- Continuing an upload --- */

/* *ret_gone is set if the server does not know the upload any more. */
static int s3_multipart_list_page(struct multipart *m, int64_t *marker, bool *ret_gone,
				  struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct err err = { 0 };
	int64_t before = *marker;
	char text[PART_NUMBER_MAX];

	snprintf(text, sizeof(text), "%lld", (long long)*marker);
	if (s3_multipart_ask(m,
			     (struct object_request){ .http.method = "GET",
						      .params = { { "part-number-marker", text },
								  { "uploadId", m->upload.id } } },
			     &t, fault) < 0)
		return -1;
	*ret_gone = t->answer.status == 404;
	if (*ret_gone)
		return 0;
	if (t->answer.status != 200)
		return object_refused(m->parts.store, &t->answer, fault);
	if (s3_list_parts(strbuf_str(&t->answer.body), t->answer.body.len, m->listed, m->parts.n,
			  marker, &err) < 0)
		return fault_set(fault, FAULT_SERVER, "list of parts: %s", err_text(&err));
	if (*marker > 0 && *marker <= before)
		return fault_set(fault, FAULT_PROTOCOL, "the list of parts does not go on");
	return 0;
}

/*
 * Continues the upload of an earlier run if the server still knows it; otherwise begins a new
 * upload.
 */
static int find_upload(struct multipart *m, struct fault *fault)
{
	const struct item *item = m->parts.item;
	struct object_store *o = m->parts.store;
	char md5[MD5_TEXT_MAX];
	bool gone = !state_upload(s3_multipart_state(m), item->name, item->sha256, &m->upload);
	int64_t marker = 0;

	/*
	 * The file is read and checked first, because sending a damaged file once more would cost
	 * more.
	 */
	if (state_was_damaged(s3_multipart_state(m), item->name, item->sha256) &&
	    object_check_file(o->store.context, o->http, item, md5, fault) < 0)
		return -1;
	if (!gone && s3_multipart_cut(m, m->upload.part, fault) < 0)
		return -1;
	gone = gone || m->parts.size != m->upload.part ||
	       m->upload.sha256 != s3_multipart_is_aws(m);
	for (bool more = !gone; more; more = !gone && marker > 0)
		if (s3_multipart_list_page(m, &marker, &gone, fault) < 0)
			return -1;
	if (gone)
		return s3_multipart_begin(m, fault);
	for (size_t i = 0; i < m->parts.n; i++)
		m->parts.there[i] = m->listed[i].size == part_bytes(&m->parts, i);
	return 0;
}

/* --- Parts --- */

/* If the ETag is something else than an MD5 (as with SSE-KMS), the part is sent again. */
static bool s3_part_is_there(struct parts *p, size_t i, const struct object_digest *digest)
{
	struct s3_part *listed = &((struct multipart *)p)->listed[i];

	s3_checksum(digest->sha256, listed->checksum);
	return p->there[i] && s3_etag_is(listed->etag, digest->md5);
}

static void s3_part_address(const struct parts *p, size_t i, char number[static PART_NUMBER_MAX],
			    struct object_request *request)
{
	snprintf(number, PART_NUMBER_MAX, "%zu", i + 1);
	request->params[0] = (struct object_param){ "partNumber", number };
	request->params[1] =
		(struct object_param){ "uploadId", ((const struct multipart *)p)->upload.id };
}

static int s3_part_taken(struct parts *p, size_t i, const struct http_answer *answer,
			 struct fault *fault)
{
	if (!*answer->etag || strlen(answer->etag) >= S3_ETAG_MAX || strpbrk(answer->etag, "<>&"))
		return fault_set(fault, FAULT_PROTOCOL, "a part was taken without an ETag");
	snprintf(((struct multipart *)p)->listed[i].etag, S3_ETAG_MAX, "%s", answer->etag);
	return 0;
}

/* clang-format off */
static const struct parts_service s3_parts = {
	.wants_sha256 = true, .is_there = s3_part_is_there, .address = s3_part_address, .on_taken = s3_part_taken,
};
/* clang-format on */

/* --- The end --- */

static void s3_multipart_add_parts(const struct multipart *m, struct strbuf *xml)
{
	strbuf_adds(xml,
		    "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
	for (size_t i = 0; i < m->parts.n; i++) {
		strbuf_addf(xml, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag>", i + 1,
			    m->listed[i].etag);
		if (s3_multipart_is_aws(m))
			strbuf_addf(xml, "<ChecksumSHA256>%s</ChecksumSHA256>",
				    m->listed[i].checksum);
		strbuf_adds(xml, "</Part>");
	}
	strbuf_adds(xml, "</CompleteMultipartUpload>");
}

/* If the content is not that of the manifest, the parts are neither put together nor kept. */
static int check_whole(struct multipart *m, struct fault *fault)
{
	if (object_check_sha256(m->parts.item, &m->parts.sha256, fault) == 0)
		return 0;
	abort_upload(m->upload.id, m);
	state_set_damaged(s3_multipart_state(m), m->parts.item->name, m->parts.item->sha256);
	state_save(s3_multipart_state(m), NULL);
	return -1;
}

/* S3 begins its answer with 200 before it knows the result. */
static int s3_multipart_complete(struct multipart *m, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT((size_t)4 << 20);
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char digest[SHA256_TEXT_MAX], code[64];

	s3_multipart_add_parts(m, &xml);
	if (strbuf_failed(&xml))
		return fault_set(fault, FAULT_MEMORY, "list of parts: out of memory");
	sha256_text(strbuf_str(&xml), xml.len, digest);
	/* clang-format off */
	const struct object_request request = {
		.http = { .method = "POST", .body = strbuf_str(&xml), .len = (int64_t)xml.len, .stall_s = COMPLETE_STALL_S },
		.params = { { "uploadId", m->upload.id } }, .sha256 = digest, .header = "Content-Type: application/xml",
	};
	/* clang-format on */
	if (s3_multipart_ask(m, request, &t, fault) < 0)
		return -1;
	s3_error_code(&t->answer, code);
	if (t->answer.status == 200 && !*code)
		return 0;
	/*
	 * The server does not know the upload any more, or has other parts than we think. The next
	 * try starts from the beginning.
	 */
	if (strcmp(code, "NoSuchUpload") == 0 || strcmp(code, "InvalidPart") == 0)
		s3_multipart_note(m, &(struct upload){ .part = m->upload.part });
	return object_refused(m->parts.store, &t->answer, fault);
}

int s3_put_parts(struct object_store *o, const struct item *item, const char *key,
		 struct fault *fault)
{
	struct multipart m = {
		.parts = { .service = &s3_parts, .store = o, .item = item, .key = key }
	};
	int r = find_upload(&m, fault);

	if (r == 0)
		r = parts_send(&m.parts, fault);
	if (r == 0)
		r = check_whole(&m, fault);
	if (r == 0)
		r = s3_multipart_complete(&m, fault);
	parts_release(&m.parts);
	free(m.listed);
	return r;
}
