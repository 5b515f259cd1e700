/* SPDX-License-Identifier: Apache-2.0 */
/* Where a store is: file:///DIR, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, webhdfss://... */
#ifndef AFTERGLOW_SIDECAR_SHIP_STORE_URL_H
#define AFTERGLOW_SIDECAR_SHIP_STORE_URL_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define STORE_PATH_MAX 1024

enum store_kind { STORE_DIRECTORY, STORE_S3, STORE_WEBHDFS };

struct store_url {
	enum store_kind kind;
	bool tls;		   /* webhdfss */
	char host[256];		   /* bucket, or HOST[:PORT] of a NameNode */
	char path[STORE_PATH_MAX]; /* decoded; without the slash at its end; S3: without the one before it too */
};

/* A text that starts with '/' is a directory, taken literally. */
int store_url_parse(const char *text, struct store_url *ret_url, struct err *err);

/*
 * A path below the store: one or more components joined by '/', none of them
 * empty, hidden, "." or "..", no control characters.
 */
int store_path_check(const char *path, struct err *err);

/* Appends path with all but RFC 3986's unreserved characters and '/' as %XX. */
void store_path_encode(struct strbuf *out, const char *path);
/* The same, '/' too: for the value of a query. */
void store_query_encode(struct strbuf *out, const char *value);

#endif
