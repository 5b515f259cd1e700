/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values in S3's XML. */
#include "sidecar/ship/s3_answer.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base64.h"
#include "sidecar/ship/credentials.h"
#include "sidecar/ship/object.h"
#include "sidecar/ship/xml_leaves.h"

/* Accepts printable text without characters that would have to be escaped when it is sent back. */
static bool is_token(const char *s, size_t size)
{
	size_t len = strlen(s);

	if (len == 0 || len >= size)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f || strchr("<>&", *s))
			return false;
	return true;
}

static int64_t s3_answer_number(const char *s)
{
	char *end;
	long long n = strtoll(s, &end, 10);

	return end == s || *end || n < 0 ? -1 : n;
}

/* --- CreateMultipartUpload --- */

static int take_upload_id(const char *path, const char *text, void *arg)
{
	if (!text || strcmp(path, "InitiateMultipartUploadResult/UploadId") != 0)
		return 0;
	if (is_token(text, UPLOAD_ID_MAX))
		snprintf(arg, UPLOAD_ID_MAX, "%s", text);
	return 1;
}

int s3_upload_id(const char *xml, size_t len, char ret_id[static UPLOAD_ID_MAX], struct err *err)
{
	char id[UPLOAD_ID_MAX] = "";
	int r = xml_leaves(xml, len, take_upload_id, id, err);

	if (r == 0 && !*id)
		r = err_set(err, EINVAL, "no upload id");
	if (r == 0)
		memcpy(ret_id, id, sizeof(id));
	return r;
}

/* --- ListParts --- */

struct parts {
	struct s3_part *parts, current;
	size_t n;
	int64_t number, next;
	bool truncated;
};

static int take_part(const char *path, const char *text, void *arg)
{
	struct parts *p = arg;

	if (strcmp(path, "ListPartsResult/Part") == 0) {
		if (p->number >= 1 && (size_t)p->number <= p->n && p->current.size >= 0 &&
		    *p->current.etag)
			p->parts[p->number - 1] = p->current;
		p->current = (struct s3_part){ .size = -1 };
		p->number = 0;
	} else if (!text) {
		return 0;
	} else if (strcmp(path, "ListPartsResult/Part/PartNumber") == 0) {
		p->number = s3_answer_number(text);
	} else if (strcmp(path, "ListPartsResult/Part/Size") == 0) {
		p->current.size = s3_answer_number(text);
	} else if (strcmp(path, "ListPartsResult/Part/ETag") == 0 && is_token(text, S3_ETAG_MAX)) {
		snprintf(p->current.etag, sizeof(p->current.etag), "%s", text);
	} else if (strcmp(path, "ListPartsResult/IsTruncated") == 0) {
		p->truncated = strcmp(text, "true") == 0;
	} else if (strcmp(path, "ListPartsResult/NextPartNumberMarker") == 0) {
		p->next = s3_answer_number(text);
	}
	return 0;
}

const char *s3_checksum(const char *sha256, char ret_checksum[static S3_CHECKSUM_MAX])
{
	unsigned char digest[SHA256_BYTES] = { 0 };

	for (size_t i = 0; i < sizeof(digest); i++)
		sscanf(sha256 + 2 * i, "%2hhx", &digest[i]);
	base64_encode(digest, sizeof(digest), ret_checksum);
	return ret_checksum;
}

bool s3_etag_is(const char *etag, const unsigned char md5[static 16])
{
	char wanted[33];

	for (size_t i = 0; i < 16; i++)
		snprintf(wanted + 2 * i, 3, "%02x", md5[i]);
	etag += *etag == '"';
	return strncasecmp(etag, wanted, 32) == 0 && (!etag[32] || strcmp(etag + 32, "\"") == 0);
}

int s3_list_parts(const char *xml, size_t len, struct s3_part *parts, size_t n, int64_t *ret_next,
		  struct err *err)
{
	struct parts p = { .parts = parts, .n = n, .current.size = -1 };
	int r = xml_leaves(xml, len, take_part, &p, err);

	if (r < 0)
		return r;
	if (p.truncated && (p.next <= 0 || p.next > OBJECT_PARTS_MAX))
		return err_set(err, EINVAL, "a list of parts goes on, and does not say where");
	*ret_next = p.truncated ? p.next : 0;
	return 0;
}

/* --- ListMultipartUploads --- */

struct uploads {
	const char *key;
	void (*fn)(const char *id, void *arg);
	void *arg;
	size_t n;
	bool ours;
	char id[UPLOAD_ID_MAX];
};

static int take_upload(const char *path, const char *text, void *arg)
{
	struct uploads *u = arg;

	if (strcmp(path, "ListMultipartUploadsResult/Upload") == 0) {
		if (u->ours && *u->id && u->n++ < S3_UPLOADS_MAX)
			u->fn(u->id, u->arg);
		u->ours = false;
		u->id[0] = '\0';
	} else if (text && strcmp(path, "ListMultipartUploadsResult/Upload/Key") == 0) {
		u->ours = strcmp(text, u->key) == 0;
	} else if (text && strcmp(path, "ListMultipartUploadsResult/Upload/UploadId") == 0 &&
		   is_token(text, UPLOAD_ID_MAX)) {
		snprintf(u->id, sizeof(u->id), "%s", text);
	}
	return 0;
}

int s3_list_uploads(const char *xml, size_t len, const char *key,
		    void (*fn)(const char *id, void *arg), void *arg, struct err *err)
{
	struct uploads u = { .key = key, .fn = fn, .arg = arg };

	return xml_leaves(xml, len, take_upload, &u, err);
}

/* --- AssumeRoleWithWebIdentity --- */

#define STS_PATH "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"

static int take_credential(const char *path, const char *text, void *arg)
{
	struct sts_credentials *c = arg;
	char **value = NULL;

	if (!text || strncmp(path, STS_PATH, strlen(STS_PATH)) != 0)
		return 0;
	path += strlen(STS_PATH);
	if (strcmp(path, "AccessKeyId") == 0)
		value = &c->access_key_id;
	else if (strcmp(path, "SecretAccessKey") == 0)
		value = &c->secret_access_key;
	else if (strcmp(path, "SessionToken") == 0)
		value = &c->session_token;
	if (value && !*value && is_token(text, XML_TEXT_MAX))
		*value = strdup(text);
	return 0;
}

int sts_read_credentials(const char *xml, size_t len, struct sts_credentials *ret_credentials,
			 struct err *err)
{
	struct sts_credentials c = { 0 };
	int r = xml_leaves(xml, len, take_credential, &c, err);

	if (r == 0 && (!c.access_key_id || !c.secret_access_key || !c.session_token))
		r = err_set(err, EINVAL, "no credentials in it");
	if (r < 0) {
		sts_credentials_release(&c);
		return r;
	}
	*ret_credentials = c;
	return 0;
}

void sts_credentials_release(struct sts_credentials *c)
{
	credential_forget(&c->access_key_id);
	credential_forget(&c->secret_access_key);
	credential_forget(&c->session_token);
}
