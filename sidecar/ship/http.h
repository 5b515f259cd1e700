/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes HTTP requests with libcurl, up to HTTP_PARALLEL at a time. Certificates are always
 * verified. Redirects are never followed; the answer has their location. The body of a request
 * comes from memory or straight from a file. Each request is a single attempt; the caller decides
 * whether to repeat it.
 */
#pragma once

#include <stdint.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "sidecar/ship/fault.h"

#define HTTP_PARALLEL 4
#define HTTP_ANSWER_MAX ((size_t)2 << 20) /* bytes; a ListParts answer with 1000 parts has 300 kB */
/* bytes; a token has a few kB. Values of JSON need forty times the memory of their text */
#define HTTP_JSON_MAX ((size_t)64 << 10)
#define HTTP_HEADER_MAX 2048 /* bytes of a location; longer ones are dropped */

struct http;

struct http_settings {
	/* a PEM file that replaces the system's root certificates; NULL: none */
	const char *ca;
	/*
	 * a URL, and hosts that are reached without it, as curl takes them; NULL: the environment
	 * decides
	 */
	const char *proxy, *no_proxy;
	int64_t deadline_ns; /* CLOCK_BOOTTIME, 0: none */
	int64_t rate; /* bytes a second that all requests together send, 0: no limit */
	/*
	 * a request fails when less than 1 KiB a second was sent and received for so many seconds
	 */
	int64_t stall_s;
	void (*alive)(void *arg); /* called about once a second during a request; NULL is allowed */
	void *arg;
};

struct http_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	const char *sigv4, *user, *password; /* sigv4: "aws:amz:REGION:s3"; NULL: not signed */
	const char *body; /* the body in memory; NULL: it comes from fd */
	int fd; /* with body NULL and len > 0: the file that the body comes from */
	int64_t offset, len; /* of the body: where it begins in fd, and its bytes */
	bool no_proxy; /* use no proxy, because the node itself answers */
	bool unasked; /* send the body without waiting for "100 Continue": the server has accepted a similar body before */
	/*
	 * replaces the settings' stall_s when the answer takes longer; 0: use that of the settings
	 */
	int64_t stall_s;
	void (*on_sent)(void *arg, int64_t sent); /* sent: bytes of the body so far; may be NULL */
	void *arg;
};

struct http_answer {
	int status;
	struct strbuf body;
	int64_t length; /* Content-Length of the answer to a HEAD; -1: absent */
	int64_t retry_after_s; /* 0: absent */
	int64_t clock_off_s; /* our clock minus the server's; 0 if the answer has no date */
	char location[HTTP_HEADER_MAX], etag[256], sha256[65], region[64],
		error_code[64]; /* "" if absent */
};

/* A request that is under way or over. The caller reads nothing but `answer`. */
struct http_transfer {
	const struct http_request *request;
	struct http_answer answer;
	struct http *http;
	void *easy, *headers;
	int64_t sent;
	size_t headers_bytes;
	int64_t rate; /* its share of the settings' rate, 0: no limit */
	int read_errno;
	bool over;
	int code; /* a CURLcode, when it is over */
	char error[256]; /* CURL_ERROR_SIZE */
};

/*
 * Creates a client. The strings that settings points to must outlive it. The caller frees it with
 * http_free.
 */
int http_new(const struct http_settings *settings, struct http **ret_http, struct fault *fault);
/* Frees the client; http may be NULL. */
void http_free(struct http *http);

/*
 * Starts a request, which must stay until its transfer has ended. At most HTTP_PARALLEL run at a
 * time.
 */
int http_start(struct http *http, const struct http_request *request,
	       struct http_transfer **ret_transfer, struct fault *fault);
/*
 * Continues all requests as far as is possible without waiting, for a caller that is busy with
 * other work. Returns -1 with fault if memory runs out.
 */
int http_turn(struct http *http, struct fault *fault);
/*
 * Waits until any request is over. Returns 0 if it was answered, whatever the status, else -1 with
 * fault. In both cases *ret_transfer is set, and the caller calls http_end.
 */
int http_wait(struct http *http, struct http_transfer **ret_transfer, struct fault *fault);
/* Frees the transfer with its answer. */
void http_end(struct http_transfer *transfer);
/* Ends all requests that are under way. */
void http_cancel(struct http *http);

/*
 * Makes one request and waits for it, whatever else is under way. *ret_transfer has its answer; the
 * caller calls http_end.
 */
int http_call(struct http *http, const struct http_request *request,
	      struct http_transfer **ret_transfer, struct fault *fault);

/*
 * The length in bytes of the origin ("https://host:9000") of url, for "%.*s". Messages show only
 * the origin, because path and query may hold a token.
 */
int http_origin_length(const char *url);

/* Parses the JSON of an answer, as json_parse does; -EFBIG: it is longer than HTTP_JSON_MAX. */
int http_json_parse(const char *text, size_t len, cJSON **ret_json, struct err *err);

/* For _cleanup_: ends the transfer if there is one. */
static inline void http_endp(struct http_transfer **transfer)
{
	if (*transfer)
		http_end(*transfer);
}
#define _cleanup_transfer_ _cleanup_(http_endp)
