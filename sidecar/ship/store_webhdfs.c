/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in HDFS over HTTP. A file is created in two steps: a request without data goes to the
 * NameNode, which redirects to a DataNode, and the data go there. The file is written under a
 * hidden name; then its length is checked, its digest is attached as an attribute, and it is
 * renamed over an older file of its name. A later run identifies the content by the attribute;
 * where HDFS has attributes turned off, the state file decides.
 *
 * The query has our identity (webhdfs_identity.h). We make requests for the NameNode only; a
 * DataNode gets the URL that the NameNode gave.
 */
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/store.h"
#include "sidecar/ship/webhdfs_answer.h"
#include "sidecar/ship/webhdfs_identity.h"

#define ATTRIBUTE "user.afterglow.sha256"
#define PATH_MAX_ (STORE_PATH_MAX + PLAN_PATH_MAX)
#define URL_MAX (16 * STORE_PATH_MAX + 2 * CREDENTIAL_MAX)
/* A DataNode answers only when the last block has reached all its replicas. */
#define DATA_STALL_S 120

struct webhdfs {
	struct store store;
	struct http *http;
	struct webhdfs_identity identity;
	bool reached; /* the NameNode answered the last request */
};

static const struct ship_options *store_webhdfs_options(const struct webhdfs *w)
{
	return w->store.context->options;
}

/* --- Requests to the NameNode --- */

static int ask_once(struct webhdfs *w, const char *method, const char *path, const char *query,
		    struct http_transfer **ret_transfer, struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT(URL_MAX);
	struct http_request request = { .method = method };

	*ret_transfer = NULL;
	if (webhdfs_identity_renew(&w->identity, w->http, fault) < 0)
		return -1;
	webhdfs_identity_begin_url(&w->identity, path, query, &url);
	webhdfs_identity_add(&w->identity, &url);
	if (strbuf_failed(&url))
		return fault_set(fault, FAULT_MEMORY, "URL: out of memory");
	request.url = strbuf_str(&url);
	int r = http_call(w->http, &request, ret_transfer, fault);
	credential_wipe(&url);
	w->reached = r == 0;
	return r;
}

/*
 * Sends a request. query is "GETFILESTATUS" or more, encoded. Returns 0 if an answer came, whatever
 * its status. If a token that we got ourselves has expired, the request is sent once more with
 * another one.
 */
static int store_webhdfs_ask(struct webhdfs *w, const char *method, const char *path,
			     const char *query, struct http_transfer **ret_transfer,
			     struct fault *fault)
{
	if (ask_once(w, method, path, query, ret_transfer, fault) < 0)
		return -1;
	if (!webhdfs_token_refused(&(*ret_transfer)->answer) ||
	    !webhdfs_identity_drop(&w->identity))
		return 0;
	http_end(TAKE_PTR(*ret_transfer));
	return ask_once(w, method, path, query, ret_transfer, fault);
}

/* Does the same, but any status other than 200 is a fault. */
static int store_webhdfs_order(struct webhdfs *w, const char *method, const char *path,
			       const char *query, struct http_transfer **ret_transfer,
			       struct fault *fault)
{
	if (store_webhdfs_ask(w, method, path, query, ret_transfer, fault) < 0)
		return -1;
	return (*ret_transfer)->answer.status == 200 ?
		       0 :
		       webhdfs_fault(&(*ret_transfer)->answer, store_webhdfs_options(w)->store.host,
				     fault);
}

static void store_webhdfs_paths(const struct webhdfs *w, const char *below,
				char path[static PATH_MAX_], char temporary[static PATH_MAX_])
{
	snprintf(path, PATH_MAX_, "%s/%s", store_webhdfs_options(w)->store.path, below);
	const char *base = strrchr(path, '/') + 1;
	snprintf(temporary, PATH_MAX_, "%.*s.%s.partial", (int)(base - path), path, base);
}

/* --- Looking --- */

/* *ret_there is false if the file does not exist. */
static int get_status(struct webhdfs *w, const char *path, bool *ret_there,
		      struct webhdfs_status *ret_status, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct err err = { 0 };
	char exception[64];

	if (store_webhdfs_ask(w, "GET", path, "GETFILESTATUS", &t, fault) < 0)
		return -1;
	webhdfs_exception(&t->answer, exception);
	*ret_there = t->answer.status == 200;
	if (t->answer.status == 404 && strcmp(exception, "FileNotFoundException") == 0)
		return 0;
	if (t->answer.status != 200)
		return webhdfs_fault(&t->answer, store_webhdfs_options(w)->store.host, fault);
	if (webhdfs_read_status(&t->answer, ret_status, &err) < 0)
		return fault_set(fault, FAULT_PROTOCOL, "HDFS at %s: %s",
				 store_webhdfs_options(w)->store.host, err_text(&err));
	return 0;
}

static int compare_digest(struct webhdfs *w, const char *path, const struct item *item,
			  enum look *ret_look, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char digest[SHA256_TEXT_MAX];

	if (store_webhdfs_ask(w, "GET", path, "GETXATTRS&xattr.name=" ATTRIBUTE "&encoding=text",
			      &t, fault) < 0)
		return -1;
	webhdfs_read_digest(&t->answer, digest);
	if (t->answer.status != 200 || !*digest)
		*ret_look = LOOK_UNKNOWN;
	else
		*ret_look = strcmp(digest, item->sha256) == 0 ? LOOK_SAME : LOOK_DIFFERS;
	return 0;
}

static int webhdfs_look(struct store *s, const struct item *item, enum look *ret_look,
			struct fault *fault)
{
	struct webhdfs *w = (struct webhdfs *)s;
	char path[PATH_MAX_], temporary[PATH_MAX_];
	struct webhdfs_status status;
	bool there;

	store_webhdfs_paths(w, item->path, path, temporary);
	if (get_status(w, path, &there, &status, fault) < 0)
		return -1;
	if (there && !status.is_file)
		return fault_set(fault, FAULT_OCCUPIED, "HDFS at %s: a directory is called %s",
				 store_webhdfs_options(w)->store.host, path);
	if (there && status.length == item->size)
		return compare_digest(w, path, item, ret_look, fault);
	*ret_look = there ? LOOK_DIFFERS : LOOK_MISSING;
	return 0;
}

/* --- Writing --- */

static int store_webhdfs_make_directory(struct webhdfs *w, const char *path, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char parent[PATH_MAX_];

	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(path, '/') - path), path);
	return store_webhdfs_order(w, "PUT", parent, "MKDIRS&permission=750", &t, fault);
}

/* The first step: asks the NameNode where to send the data. */
static int ask_where(struct webhdfs *w, const char *path, char location[static HTTP_HEADER_MAX],
		     struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;

	if (store_webhdfs_ask(w, "PUT", path, "CREATE&overwrite=true&permission=640", &t, fault) <
	    0)
		return -1;
	if (t->answer.status != 307)
		return webhdfs_fault(&t->answer, store_webhdfs_options(w)->store.host, fault);
	if (webhdfs_check_location(t->answer.location, "op=CREATE",
				   store_webhdfs_options(w)->store.tls, fault) < 0)
		return -1;
	memcpy(location, t->answer.location, HTTP_HEADER_MAX);
	return 0;
}

static int send_to(struct webhdfs *w, const struct item *item, const char *location,
		   bool *ret_token_refused, struct fault *fault)
{
	/* HttpFS, which has the same interface, requires the type. */
	static const char *const headers[] = { "Content-Type: application/octet-stream", NULL };
	_cleanup_transfer_ struct http_transfer *t = NULL;
	/* clang-format off */
	const struct http_request request = {
		.method = "PUT", .url = location, .headers = headers, .fd = item->fd, .len = item->size, .stall_s = DATA_STALL_S,
		.on_sent = progress_sent, .arg = w->store.context->progress,
	};
	/* clang-format on */

	*ret_token_refused = false;
	if (http_call(w->http, &request, &t, fault) < 0)
		return -1;
	*ret_token_refused = webhdfs_token_refused(&t->answer);
	return t->answer.status == 201 || t->answer.status == 200 ?
		       0 :
		       webhdfs_fault(&t->answer, store_webhdfs_options(w)->store.host, fault);
}

/* Both steps; once more if the token in the location expired between them. */
static int send_data(struct webhdfs *w, const struct item *item, const char *path,
		     struct fault *fault)
{
	char location[HTTP_HEADER_MAX];
	bool refused;

	if (ask_where(w, path, location, fault) < 0)
		return -1;
	if (send_to(w, item, location, &refused, fault) == 0)
		return 0;
	if (!refused || !webhdfs_identity_drop(&w->identity) ||
	    ask_where(w, path, location, fault) < 0)
		return -1;
	return send_to(w, item, location, &refused, fault);
}

static int check_length(struct webhdfs *w, const char *path, const struct item *item,
			struct fault *fault)
{
	struct webhdfs_status status = { 0 };
	bool there;

	if (get_status(w, path, &there, &status, fault) < 0)
		return -1;
	if (!there || status.length != item->size)
		return fault_set(fault, FAULT_SERVER, "HDFS at %s: not all of the file arrived",
				 store_webhdfs_options(w)->store.host);
	return 0;
}

static void attach_digest(struct webhdfs *w, const char *path, const struct item *item)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	struct fault why;
	char query[256];

	snprintf(query, sizeof(query),
		 "SETXATTR&xattr.name=" ATTRIBUTE "&xattr.value=%%22%s%%22&flag=CREATE",
		 item->sha256);
	if (store_webhdfs_order(w, "PUT", path, query, &t, &why) < 0)
		log_debug("%s: no attribute: %s", item->name, why.text);
}

/*
 * Renames the file. HttpFS does not know the option to overwrite, and does not replace an existing
 * file; then *ret_refused is set.
 */
static int rename_once(struct webhdfs *w, const char *from, const char *to, bool *ret_refused,
		       struct fault *fault)
{
	_cleanup_strbuf_ struct strbuf query = STRBUF_INIT(4 * PATH_MAX_);
	_cleanup_transfer_ struct http_transfer *t = NULL;

	strbuf_adds(&query, "RENAME&renameoptions=OVERWRITE&destination=");
	store_query_encode(&query, to);
	if (store_webhdfs_order(w, "PUT", from, strbuf_str(&query), &t, fault) < 0)
		return -1;
	*ret_refused = webhdfs_refused(&t->answer);
	return 0;
}

static int rename_over(struct webhdfs *w, const char *from, const char *to, struct fault *fault)
{
	_cleanup_transfer_ struct http_transfer *t = NULL;
	bool refused;

	if (rename_once(w, from, to, &refused, fault) < 0)
		return -1;
	if (refused &&
	    (store_webhdfs_order(w, "DELETE", to, "DELETE&recursive=false", &t, fault) < 0 ||
	     rename_once(w, from, to, &refused, fault) < 0))
		return -1;
	return refused ? fault_set(fault, FAULT_OCCUPIED, "HDFS at %s does not rename to %s",
				   store_webhdfs_options(w)->store.host, to) :
			 0;
}

static int webhdfs_put(struct store *s, const struct item *item, struct fault *fault)
{
	struct webhdfs *w = (struct webhdfs *)s;
	char path[PATH_MAX_], temporary[PATH_MAX_];

	store_webhdfs_paths(w, item->path, path, temporary);
	if (store_webhdfs_make_directory(w, path, fault) < 0 ||
	    send_data(w, item, temporary, fault) < 0 || check_length(w, temporary, item, fault) < 0)
		return -1;
	attach_digest(w, temporary, item);
	return rename_over(w, temporary, path, fault);
}

/* --- Opening --- */

/* The NameNode redirects to a DataNode with the data; HttpFS sends the data itself. */
static int store_webhdfs_open_at(struct webhdfs *w, const char *path, int64_t offset, size_t len,
				 struct http_transfer **ret_transfer, struct fault *fault)
{
	char query[100], location[HTTP_HEADER_MAX];

	snprintf(query, sizeof(query), "OPEN&offset=%lld&length=%zu", (long long)offset, len);
	if (store_webhdfs_ask(w, "GET", path, query, ret_transfer, fault) < 0)
		return -1;
	if ((*ret_transfer)->answer.status != 307)
		return 0;
	if (webhdfs_check_location((*ret_transfer)->answer.location, "op=OPEN",
				   store_webhdfs_options(w)->store.tls, fault) < 0)
		return -1;
	memcpy(location, (*ret_transfer)->answer.location, HTTP_HEADER_MAX);
	http_end(TAKE_PTR(*ret_transfer));
	return http_call(
		w->http,
		&(struct http_request){ .method = "GET", .url = location, .stall_s = DATA_STALL_S },
		ret_transfer, fault);
}

/* HDFS refuses to open a file at its end, so the length is read first. */
static int webhdfs_get(struct store *s, const char *below, int64_t offset, size_t len,
		       struct strbuf *out, struct fault *fault)
{
	struct webhdfs *w = (struct webhdfs *)s;
	_cleanup_transfer_ struct http_transfer *t = NULL;
	char path[PATH_MAX_], temporary[PATH_MAX_];
	struct webhdfs_status status = { 0 };
	bool there;

	store_webhdfs_paths(w, below, path, temporary);
	if (get_status(w, path, &there, &status, fault) < 0)
		return -1;
	if (!there || offset >= status.length)
		return 0;
	if (store_webhdfs_open_at(w, path, offset,
				  (size_t)MIN((int64_t)len, status.length - offset), &t, fault) < 0)
		return -1;
	if (t->answer.status != 200)
		return webhdfs_fault(&t->answer, store_webhdfs_options(w)->store.host, fault);
	strbuf_add(out, strbuf_str(&t->answer.body), t->answer.body.len);
	return 0;
}

static void webhdfs_free(struct store *s)
{
	struct webhdfs *w = (struct webhdfs *)s;

	if (w->reached)
		webhdfs_identity_end(&w->identity, w->http);
	http_free(w->http);
	webhdfs_identity_release(&w->identity);
	free(w);
}

static int webhdfs_open(struct store *s, struct fault *fault)
{
	struct webhdfs *w = (struct webhdfs *)s;

	if (webhdfs_identity_open(&w->identity, s->context->options, fault) < 0)
		return -1;
	return store_http_new(s->context, w->identity.credentials.ca, &w->http, fault);
}

/* clang-format off */
const struct store_ops store_webhdfs_ops = {
	.size = sizeof(struct webhdfs), .open = webhdfs_open,
	.look = webhdfs_look, .put = webhdfs_put, .get = webhdfs_get, .free = webhdfs_free,
};
/* clang-format on */
