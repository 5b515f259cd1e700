/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests on libcurl's multi interface, driven by libevent: sockets and curl's
 * timer become events of the base. It uses HTTP/1.1, so that each watch has a
 * connection of its own, and a dead connection does not affect other requests.
 *
 * Nothing starts or ends inside http_start and http_cancel: both only queue, so
 * that they may be called from any callback.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct http;
struct http_call;

/* PEM texts; NULL: none. A NULL ca means the system's roots. */
struct http_tls {
	const char *ca, *certificate, *key;
	bool insecure;
};

struct http_request {
	const char *method; /* a literal: "GET", "POST", "PATCH", "PUT", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *body; /* NULL: none */
	size_t body_len;
	/*
	 * For a request to one of thousands of addresses: it uses no proxy, whatever the
	 * environment says, and the connection is not kept.
	 */
	bool direct;
	int64_t deadline_ns; /* for the whole of it, a stream too */
	/* bytes of answer that are kept; more is an error (a stream keeps error answers only) */
	size_t answer_max;
	struct http_tls tls;
	/*
	 * Asked when the connection is established, right before the first byte is sent. If it
	 * returns false, the call ends with EPERM. NULL: no check.
	 */
	bool (*fence)(void *arg);
	void *fence_arg;
};

struct http_response {
	int status; /* 0: no answer, err says why */
	const char *body; /* NUL-terminated */
	size_t len;
	int64_t retry_after_ns; /* 0: the answer does not set it */
	int64_t max_age_ns; /* from Cache-Control; 0: the answer does not set it */
	/* no whole answer, but the request went out and may have been carried out */
	bool maybe_done;
	/* also set when an answer broke off: then status is the one that was read */
	struct err err;
};

/*
 * Gets the bytes of a 2xx answer as they come. A negative result drops the stream; then done is
 * called with an error.
 */
typedef int (*http_data_fn)(void *arg, const void *data, size_t len);
/* Called once, unless cancelled. The call is gone afterwards. */
typedef void (*http_done_fn)(void *arg, const struct http_response *response);

/* The base must outlive it. */
int http_new(struct event_base *base, struct http **ret_http, struct err *err);
/* Drops all calls without their callbacks. */
void http_free(struct http *http);

/*
 * Starts a request. If data is NULL, the answer is collected for done. The request is copied.
 */
int http_start(struct http *http, const struct http_request *request, http_data_fn data,
	       http_done_fn done, void *arg, struct http_call **ret_call, struct err *err);

/* Drops the call; neither of its callbacks is called any more. NULL is allowed. */
void http_cancel(struct http_call *call);
