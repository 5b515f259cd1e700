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

/*
 * Our clock minus the store's, once that has refused a request for its time; 0: sign with our time.
 */
static int64_t store_s3_clock_off_s;

/*
 * Replaces the C library's function, because libcurl asks it for the time with which it signs. It
 * would sign with an X-Amz-Date of ours, too, but 7.88 then sends that header twice: MinIO finds
 * the signature wrong. Certificates are judged by the store's time as well.
 */
time_t time(time_t *ret_now)
{
	const time_t now = (time_t)(now_realtime_ns() / NS_PER_SEC - store_s3_clock_off_s);

	if (ret_now)
		*ret_now = now;
	return now;
}

/* --- Requests --- */

static void store_s3_add_object_headers(const struct s3 *s3, const struct item *item,
					struct object_call *call)
{
	const struct ship_options *o = s3->objects.store.context->options;

	object_add_header(call, "Content-Type: %s", plan_content_type(item->name));
	/* Google refuses a request that has its own kind of token and Amazon's names of headers. */
	object_add_header(call, "x-%s-meta-sha256: %s",
			  s3->identity.kind == IDENTITY_GOOGLE ? "goog" : "amz", item->sha256);
	if (o->s3_encryption)
		object_add_header(call, "x-amz-server-side-encryption: %s", o->s3_encryption);
	if (o->s3_kms_key_id)
		object_add_header(call, "x-amz-server-side-encryption-aws-kms-key-id: %s",
				  o->s3_kms_key_id);
	if (o->s3_bucket_key)
		object_add_header(call, "x-amz-server-side-encryption-bucket-key-enabled: true");
}

/*
 * Object Lock asks for a checksum of what is stored. Servers that are not AWS all know Content-MD5;
 * some refuse Amazon's newer headers, which policies of buckets on AWS ask for. The request that
 * begins an upload in parts names the algorithm.
 */
static void store_s3_add_checksum(const struct s3 *s3, const struct object_request *r,
				  struct object_call *call)
{
	char checksum[S3_CHECKSUM_MAX];

	if (r->md5 && s3->is_aws)
		object_add_header(call, "x-amz-checksum-sha256: %s",
				  s3_checksum(r->sha256, checksum));
	else if (r->md5)
		object_add_header(call, "Content-MD5: %s", r->md5);
	else if (r->creates && s3->is_aws)
		object_add_header(call, "x-amz-checksum-algorithm: SHA256");
}

static int s3_prepare(struct object_store *o, const struct object_request *r,
		      struct object_call *call, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)o;

	if (s3_identity_renew(&s3->identity, o->http, fault) < 0)
		return -1;
	s3_url(&call->url, s3->endpoint, s3->path_style, s3->place.bucket, r->key);
	object_add_params(&call->url, r->params);
	if (s3->identity.kind != IDENTITY_GOOGLE)
		object_add_header(call, "x-amz-content-sha256: %s",
				  r->sha256 ? r->sha256 : S3_EMPTY_SHA256);
	if (*s3->identity.token_header)
		object_add_header(call, "%s", s3->identity.token_header);
	store_s3_add_checksum(s3, r, call);
	if (r->creates)
		store_s3_add_object_headers(s3, r->creates, call);
	s3_identity_sign(&s3->identity, s3->scope, &call->request);
	return 0;
}

/*
 * The first time that our clock is to blame, the fault is one that passes at once, because later
 * requests have the store's time. That of a store at http:// anybody on the way may have set, and
 * it judges the certificate of an STS at https://, too.
 */
static int s3_refused(struct object_store *o, struct http_answer *answer, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)o;

	/* Our clock is not to blame for a request that had the store's time. */
	answer->clock_off_s -= store_s3_clock_off_s;
	s3_fault(answer, &s3->place, fault);
	if (fault->kind != FAULT_CLOCK || store_s3_clock_off_s || !answer->clock_off_s ||
	    (strncmp(s3->endpoint, "http://", 7) == 0 && s3_identity_is_of_tls(&s3->identity)))
		return -1;
	store_s3_clock_off_s = answer->clock_off_s;
	log_warning("%s; until then requests have the store's time", fault->text);
	fault->kind = FAULT_SERVER;
	fault->retry_after_s = 0;
	return -1;
}

/* The body of a successful answer is that of the file, which may have any content. */
static bool s3_is_missing(const struct http_answer *answer)
{
	char code[64] = "";

	if (answer->status == 404)
		s3_error_code(answer, code);
	return strcmp(code, "NoSuchKey") == 0;
}

/* clang-format off */
static const struct object_service s3_service = {
	.range = "Range", .stored = 200, .prepare = s3_prepare, .refused = s3_refused, .is_missing = s3_is_missing, .put_parts = s3_put_parts,
};
/* clang-format on */

/* --- The store --- */

static void s3_tidy(struct store *s, const struct item *item)
{
	char key[OBJECT_KEY_MAX];

	object_key(s->context->options, item->path, key);
	s3_abort_uploads((struct object_store *)s, item, key);
}

static void s3_free(struct store *s)
{
	struct s3 *s3 = (struct s3 *)s;

	http_free(s3->objects.http);
	s3_identity_release(&s3->identity);
	free(s3);
}

/*
 * In China, too. Machines of EC2 and load balancers have names of AWS as well, and may have any
 * server.
 */
static bool is_of_aws(const char *endpoint)
{
	return strstr(endpoint, ".amazonaws.com") &&
	       (strstr(endpoint, "//s3") || strstr(endpoint, ".s3.") || strstr(endpoint, ".s3-"));
}

static void store_s3_set_place(struct s3 *s3)
{
	const struct ship_options *o = s3->objects.store.context->options;

	if (o->s3_endpoint)
		snprintf(s3->endpoint, sizeof(s3->endpoint), "%s", o->s3_endpoint);
	else
		snprintf(s3->endpoint, sizeof(s3->endpoint), "https://s3.%s.amazonaws.com",
			 o->s3_region);
	s3->is_aws = is_of_aws(s3->endpoint);
	snprintf(s3->scope, sizeof(s3->scope), "aws:amz:%.90s:s3", o->s3_region);
	s3->place = (struct s3_place){ .bucket = o->store.host,
				       .region = o->s3_region,
				       .endpoint = s3->endpoint };
	s3->path_style = o->s3_path_style || s3_needs_path_style(s3->endpoint, o->store.host);
}

static int s3_open(struct store *s, struct fault *fault)
{
	struct s3 *s3 = (struct s3 *)s;

	if (s3_identity_open(&s3->identity, s->context->options, fault) < 0)
		return -1;
	store_s3_set_place(s3);
	s3->objects.service = &s3_service;
	s3->objects.single_max = OBJECT_SINGLE_MAX;
	return store_http_new(s->context, s3->identity.credentials.ca, &s3->objects.http, fault);
}

/* clang-format off */
const struct store_ops store_s3_ops = {
	.size = sizeof(struct s3), .open = s3_open, .free = s3_free,
	.look = object_store_look, .put = object_store_put, .get = object_store_get, .tidy = s3_tidy,
	.put_blindly_max = OBJECT_BLIND_MAX,
};
/* clang-format on */
