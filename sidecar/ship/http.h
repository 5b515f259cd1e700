/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests on libcurl, a few at a time. Certificates are always verified,
 * redirects never followed (their place is in the answer), bodies of requests come from memory or
 * straight from a file. One attempt each: who calls decides about another one.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_HTTP_H
#define AFTERGLOW_SIDECAR_SHIP_HTTP_H

#include <stdint.h>

#include "lib/strbuf.h"
#include "sidecar/ship/fault.h"

#define HTTP_PARALLEL 4
#define HTTP_ANSWER_MAX ((size_t)2 << 20) /* a ListParts of 1000 parts has some 300 kB */
#define HTTP_HEADER_MAX 2048

struct http;

struct http_settings {
	const char *ca;	     /* PEM file in place of the system's roots; NULL: those */
	int64_t deadline_ns; /* CLOCK_BOOTTIME, 0: none */
	int64_t rate;	     /* bytes a second, 0: no limit */
	int64_t stall_s;
	void (*alive)(void *arg); /* called about once a second while a request is under way; NULL: no */
	void *arg;
};

struct http_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const char *sigv4, *user, *password; /* "aws:amz:REGION:s3"; NULL: not signed */
	const char *body; /* from memory, or else */
	int fd;		  /* from this file, if len > 0 and body is NULL */
	int64_t offset, len;
	bool no_proxy;	  /* whatever the environment says: for what the node itself answers */
	int64_t stall_s; /* longer than the settings', for an answer that takes its time; 0: those */
	void (*on_sent)(void *arg, int64_t sent);
	void *arg;
};

struct http_answer {
	int status;
	struct strbuf body;
	int64_t length;	       /* of a HEAD's body; -1: not said */
	int64_t retry_after_s; /* 0: not said */
	int64_t clock_off_s;   /* our clock minus the server's; 0 if it does not say */
	char location[HTTP_HEADER_MAX], etag[256], sha256[65], region[64]; /* "" when absent */
};

/* One under way, or answered. */
struct http_transfer {
	const struct http_request *request;
	struct http_answer answer;
	struct http *http;
	void *easy, *headers;
	int64_t sent;
	int read_errno;
	bool over;
	int code; /* curl's, when it is over */
	char error[256]; /* CURL_ERROR_SIZE */
};

/* What settings points to must outlive it. */
int http_new(const struct http_settings *settings, struct http **ret_http, struct fault *fault);
void http_free(struct http *http);

/* Starts one; request must stay until it is waited for or cancelled. At most HTTP_PARALLEL at a time. */
int http_start(struct http *http, const struct http_request *request, struct http_transfer **ret_transfer,
	       struct fault *fault);
/* Waits until any is over: 0 when it was answered, whatever the status; -1 when not. In both cases the caller ends it. */
int http_wait(struct http *http, struct http_transfer **ret_transfer, struct fault *fault);
void http_end(struct http_transfer *transfer);
/* Drops what is under way. */
void http_cancel(struct http *http);

/* One, whatever else is under way: *ret_transfer (ended by the caller) holds its answer. */
int http_call(struct http *http, const struct http_request *request, struct http_transfer **ret_transfer,
	      struct fault *fault);

/*
 * Bytes of "https://host:9000" in a URL, for "%.*s": what a message may show of it, as path and
 * query may hold a token.
 */
int http_origin_length(const char *url);

/* For _cleanup_: ends it if it is there. */
static inline void http_endp(struct http_transfer **transfer)
{
	if (*transfer)
		http_end(*transfer);
}
#define _cleanup_transfer_ _cleanup_(http_endp)

#endif
