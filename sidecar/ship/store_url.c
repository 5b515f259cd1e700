/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the URLs of stores, and encodes paths. */
#include "sidecar/ship/store_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *scheme;
	enum store_kind kind;
	bool tls;
} schemes[] = {
	{ "file://", STORE_DIRECTORY, false },	{ "s3://", STORE_S3, false },
	{ "azure://", STORE_AZURE, false },	{ "webhdfs://", STORE_WEBHDFS, false },
	{ "webhdfss://", STORE_WEBHDFS, true },
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Control characters are refused, because the text gets into logs and requests. */
static int store_url_decode(const char *text, bool literal, char *out, size_t size, struct err *err)
{
	size_t n = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '%' && !literal) {
			if (hex_value(text[1]) < 0 || hex_value(text[2]) < 0)
				return err_set(err, EINVAL,
					       "'%%' must be followed by two hexadecimal digits");
			c = (unsigned char)(hex_value(text[1]) << 4 | hex_value(text[2]));
			text += 2;
		}
		if (c < ' ' || c == 0x7f)
			return err_set(err, EINVAL, "control characters are not allowed");
		if (n + 1 >= size)
			return err_set(err, ENAMETOOLONG, "at most %zu bytes", size - 1);
		out[n++] = (char)c;
	}
	while (n > 0 && out[n - 1] == '/')
		n--;
	out[n] = '\0';
	return 0;
}

/* The beginning of the URLs of each kind. */
static const struct {
	const char *what, *form, *noun;
	const char *marks; /* characters that are allowed besides letters and digits */
} hosts[] = {
	/* S3 allows the first two in names, and older buckets may have '_'. */
	[STORE_S3] = { "bucket", "s3://BUCKET/PREFIX", "bucket's name", ".-_" },
	[STORE_AZURE] = { "storage account", "azure://ACCOUNT/CONTAINER/PREFIX",
			  "storage account's name", "" },
	[STORE_WEBHDFS] = { "NameNode", "webhdfs://HOST:PORT/PATH", "HOST:PORT", ".-_:[]" },
};

static bool valid_host(const char *host, enum store_kind kind)
{
	if (!isalnum((unsigned char)host[0]) && host[0] != '[')
		return false;
	for (const char *p = host; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(hosts[kind].marks, *p))
			return false;
	return true;
}

/* Accepts lower-case letters, digits and single hyphens, and names such as "$root". */
static bool valid_container(const char *name)
{
	name += *name == '$';
	if (!*name || *name == '-')
		return false;
	for (const char *p = name; *p; p++)
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) &&
		    (*p != '-' || p[1] == '-' || !p[1]))
			return false;
	return true;
}

/* Takes the container's name from the beginning of *rest. */
static int parse_container(const char **rest, struct store_url *u, struct err *err)
{
	const char *name = *rest + (**rest == '/');
	size_t len = strcspn(name, "/");

	if (len == 0)
		return err_set(err, EINVAL, "the container is missing: %s",
			       hosts[STORE_AZURE].form);
	if (len < sizeof(u->container))
		snprintf(u->container, sizeof(u->container), "%.*s", (int)len, name);
	if (!valid_container(u->container))
		return err_set(err, EINVAL, "'%.*s' is no container's name",
			       (int)MIN(len, (size_t)200), name);
	*rest = name + len;
	return 0;
}

static bool valid_path(const char *path)
{
	for (; path; path = strchr(path, '/')) {
		path += *path == '/';
		size_t len = strcspn(path, "/");
		if ((len == 0 && *path) || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
	}
	return true;
}

static int parse_directory(const char *path, bool literal, struct store_url *u, struct err *err)
{
	u->kind = STORE_DIRECTORY;
	if (*path != '/')
		return err_set(err, EINVAL,
			       "a directory store is file:///DIR, with an absolute path");
	int r = store_url_decode(path, literal, u->path, sizeof(u->path), err);
	if (r == 0 && !u->path[0])
		snprintf(u->path, sizeof(u->path), "/");
	return r;
}

static int parse_remote(const char *rest, struct store_url *u, struct err *err)
{
	size_t host = strcspn(rest, "/?#");

	if (strpbrk(rest, "?#@"))
		return err_set(
			err, EINVAL,
			"'?', '#' and '@' have no meaning in it: options and credentials are given apart");
	if (host == 0 || host >= sizeof(u->host))
		return err_set(err, EINVAL, "the %s is missing: %s", hosts[u->kind].what,
			       hosts[u->kind].form);
	memcpy(u->host, rest, host);
	u->host[host] = '\0';
	if (!valid_host(u->host, u->kind))
		return err_set(err, EINVAL, "'%s' is no %s", u->host, hosts[u->kind].noun);
	rest += host;
	if (u->kind == STORE_AZURE && parse_container(&rest, u, err) < 0)
		return -EINVAL;
	if (u->kind != STORE_WEBHDFS && *rest == '/')
		rest++;
	int r = store_url_decode(rest, false, u->path, sizeof(u->path), err);
	if (r < 0)
		return r;
	return valid_path(u->path) ?
		       0 :
		       err_set(err, EINVAL, "the path has an empty, \".\" or \"..\" component");
}

int store_url_parse(const char *text, struct store_url *ret_url, struct err *err)
{
	struct store_url u = { 0 };
	struct err why = { 0 };
	int r = -EINVAL;

	if (text[0] == '/') {
		r = parse_directory(text, true, &u, &why);
	} else {
		size_t i = 0;

		while (i < ARRAY_SIZE(schemes) &&
		       strncmp(text, schemes[i].scheme, strlen(schemes[i].scheme)) != 0)
			i++;
		if (i == ARRAY_SIZE(schemes))
			return err_set(
				err, EINVAL,
				"store '%s' is none of file:///DIR, s3://BUCKET/PREFIX, "
				"azure://ACCOUNT/CONTAINER/PREFIX, webhdfs://HOST:PORT/PATH, webhdfss://HOST:PORT/PATH",
				text);
		u.kind = schemes[i].kind;
		u.tls = schemes[i].tls;
		text += strlen(schemes[i].scheme);
		r = u.kind == STORE_DIRECTORY ? parse_directory(text, false, &u, &why) :
						parse_remote(text, &u, &why);
	}
	if (r < 0)
		return err_set(err, EINVAL, "store: %s", err_text(&why));
	*ret_url = u;
	return 0;
}

int store_path_check(const char *path, struct err *err)
{
	if (strlen(path) >= STORE_PATH_MAX)
		return err_set(err, ENAMETOOLONG, "path below the store: at most %d bytes",
			       STORE_PATH_MAX - 1);
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return err_set(err, EINVAL,
				       "path below the store: control characters are not allowed");
	for (const char *p = path;; p++) {
		if (*p == '.' || *p == '/' || !*p)
			return err_set(
				err, EINVAL,
				"path below the store '%s': a component is empty or starts with '.'",
				path);
		p += strcspn(p, "/");
		if (!*p)
			return 0;
	}
}

static void store_url_encode(struct strbuf *out, const char *text, const char *keep)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x80 && isalnum(c)) || strchr(keep, c))
			strbuf_addc(out, (char)c);
		else
			strbuf_addf(out, "%%%02X", c);
	}
}

void store_path_encode(struct strbuf *out, const char *path)
{
	store_url_encode(out, path, "-._~/");
}

void store_query_encode(struct strbuf *out, const char *value)
{
	store_url_encode(out, value, "-._~");
}
