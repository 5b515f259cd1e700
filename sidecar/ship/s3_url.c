/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the URLs of a bucket, with its name in the host or in the path. */
#include <ctype.h>
#include <string.h>

#include "sidecar/ship/s3.h"

static size_t scheme_len(const char *endpoint)
{
	const char *end = strstr(endpoint, "://");

	return end ? (size_t)(end - endpoint) + 3 : 0;
}

bool s3_needs_path_style(const char *endpoint, const char *bucket)
{
	const char *host = endpoint + scheme_len(endpoint);
	size_t len = strcspn(host, ":/");

	/* An IP address has no names below it. */
	if (*host == '[' || strspn(host, "0123456789.") == len)
		return true;
	for (const char *p = bucket; *p; p++)
		if (isupper((unsigned char)*p) || *p == '_')
			return true;
	/* The certificate for "*.s3.amazonaws.com" covers only one component. */
	return strncmp(endpoint, "https://", 8) == 0 && strchr(bucket, '.');
}

void s3_url(struct strbuf *out, const char *endpoint, bool path_style, const char *bucket,
	    const char *key)
{
	size_t scheme = scheme_len(endpoint), len = strlen(endpoint);

	while (len > scheme && endpoint[len - 1] == '/')
		len--;
	strbuf_add(out, endpoint, scheme);
	if (!path_style)
		strbuf_addf(out, "%s.", bucket);
	strbuf_add(out, endpoint + scheme, len - scheme);
	if (path_style)
		strbuf_addf(out, "/%s", bucket);
	strbuf_addc(out, '/');
	store_path_encode(out, key);
}
