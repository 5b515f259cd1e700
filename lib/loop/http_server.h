/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves HTTP to everybody who reaches the port: GET and HEAD alone, a bounded number of
 * connections (http_connections.h), /metrics as a shared text (shared_text.h).
 */
#pragma once

#include <event2/event.h>
#include <event2/http.h>

#include "lib/err.h"
#include "lib/loop/shared_text.h"

#define HTTP_TEXT_PLAIN "text/plain; charset=utf-8"

struct http_server;

struct http_server_options {
	const char *option, *address; /* the address, and the option that has it, for messages */
	size_t connections_max; /* at most HTTP_CONNECTIONS_MAX */
	int backlog; /* connections that the kernel queues */
	int headers_max; /* bytes of a request; it has no body */
	int idle_s; /* seconds after which a connection without traffic is closed */
	size_t metrics_max; /* bytes of /metrics */
	shared_text_fn metrics;
	void *arg; /* of metrics and of the handlers */
};

/* The strings of options must outlive the server. Port 0 takes a free port. */
int http_server_new(struct event_base *base, const struct http_server_options *options,
		    struct http_server **ret_server, struct err *err);
void http_server_free(struct http_server *s); /* NULL is allowed */

/* handler(request, arg of the options) answers requests for the path, by http_answer. */
void http_server_handle(struct http_server *s, const char *path,
			void (*handler)(struct evhttp_request *, void *));

/* Answers with the text; with 500 if that has failed. */
void http_answer(struct http_server *s, struct evhttp_request *request, int status,
		 const char *type, const struct strbuf *text);
/* Answers with 304: the client has the text already. */
void http_answer_not_modified(struct http_server *s, struct evhttp_request *request);
