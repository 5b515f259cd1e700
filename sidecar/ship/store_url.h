/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the URL of a store: file:///DIR, s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,
 * webhdfs://HOST:PORT/PATH, webhdfss://...
 */
#pragma once

#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define STORE_PATH_MAX 1024

enum store_kind { STORE_DIRECTORY, STORE_S3, STORE_AZURE, STORE_WEBHDFS };

struct store_url {
	enum store_kind kind;
	bool tls; /* webhdfss */
	char host[256]; /* bucket, storage account, or HOST[:PORT] of a NameNode */
	char container[64]; /* of Azure, else "" */
	/* decoded, without a slash at its end; for S3 and Azure also without a slash before it */
	char path[STORE_PATH_MAX];
};

/* Parses text. If it starts with '/', it is the path of a directory and is taken literally. */
int store_url_parse(const char *text, struct store_url *ret_url, struct err *err);

/*
 * Checks a path below the store: one or more components joined by '/', none of them
 * empty, hidden, "." or "..", without control characters.
 */
int store_path_check(const char *path, struct err *err);

/*
 * Appends path, with every character as %XX except '/' and the unreserved characters of RFC 3986.
 */
void store_path_encode(struct strbuf *out, const char *path);
/* Appends value in the same way, with '/' as %XX too, for use in a query. */
void store_query_encode(struct strbuf *out, const char *value);
