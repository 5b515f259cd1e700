/* SPDX-License-Identifier: Apache-2.0 */
/* Signs requests by Shared Key, as described in "Authorize with Shared Key" of Azure's REST API. */
#include "sidecar/ship/azure_sign.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base64.h"

/*
 * --- The text
 * -------------------------------------------------------------------------------------------
 */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * Changes "x-ms-date: NOW" to "x-ms-date:NOW" and sorts by name. No name of ours is another name
 * followed by a hyphen.
 */
static void azure_sign_add_headers(struct strbuf *out, const char *const *headers)
{
	const char *sorted[OBJECT_HEADERS_MAX];
	size_t n = 0;

	for (; *headers && n < OBJECT_HEADERS_MAX; headers++)
		if (strncmp(*headers, "x-ms-", 5) == 0)
			sorted[n++] = *headers;
	qsort(sorted, n, sizeof(*sorted), by_text);
	for (size_t i = 0; i < n; i++) {
		size_t name = strcspn(sorted[i], ":");

		strbuf_add(out, sorted[i], name);
		strbuf_addf(out, ":%s\n", sorted[i] + name + strspn(sorted[i] + name, ": "));
	}
}

void azure_text_to_sign(struct strbuf *out, const struct azure_to_sign *r)
{
	/*
	 * The other standard headers are empty, because we do not send them: Content-Encoding and
	 * Content-Language, and after length and digest the type, the dates and Range.
	 */
	strbuf_addf(out, "%s\n\n\n", r->method);
	if (r->length > 0)
		strbuf_addf(out, "%lld", (long long)r->length);
	strbuf_addf(out, "\n%s\n\n\n\n\n\n\n\n", r->md5);
	azure_sign_add_headers(out, r->headers);
	strbuf_addf(out, "/%s%s", r->account, r->path);
	for (const struct object_param *p = r->params; p->name; p++)
		strbuf_addf(out, "\n%s:%s", p->name, p->value);
}

/*
 * --- Keys
 * -----------------------------------------------------------------------------------------------
 */

int azure_key_decode(const char *text, unsigned char ret_key[static AZURE_KEY_MAX], size_t *ret_len,
		     struct err *err)
{
	unsigned char bytes[AZURE_KEY_MAX + 3];
	size_t len = strlen(text);
	int n = len / 4 * 3 <= AZURE_KEY_MAX ? base64_decode(text, len, bytes) : -1;

	if (n <= 0)
		return err_set(err, EINVAL, "it is no base64 of at most %d bytes", AZURE_KEY_MAX);
	*ret_len = (size_t)n;
	memcpy(ret_key, bytes, *ret_len);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

void azure_sign(const unsigned char *key, size_t key_len, const char *text,
		char ret_signature[static AZURE_SIGNATURE_MAX])
{
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, strlen(text), mac, &len);
	base64_encode(mac, len, ret_signature);
}

/*
 * --- SAS tokens
 * -----------------------------------------------------------------------------------------
 */

/* Decodes "2026-11-21T01%3A29%3A06Z". */
static void decode_colons(const char *text, char *out, size_t size)
{
	for (; *text && *text != '&' && size > 1; size--) {
		const bool escaped = strncasecmp(text, "%3a", 3) == 0;

		*out++ = escaped ? ':' : *text;
		text += escaped ? 3 : 1;
	}
	*out = '\0';
}

bool azure_sas_has_expired(const char *token, int64_t now_s)
{
	struct tm tm = { 0 };
	char text[40];

	while (token && strncmp(token, "se=", 3) != 0) {
		token = strchr(token, '&');
		if (token)
			token++;
	}
	if (!token)
		return false;
	decode_colons(token + 3, text, sizeof(text));
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	if (rest && *rest)
		rest = strptime(rest, "T%H:%M", &tm);
	if (rest && *rest == ':')
		rest = strptime(rest, ":%S", &tm);
	return rest && now_s >= (int64_t)timegm(&tm);
}
