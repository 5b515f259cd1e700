/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: an HTTP server in the same loop that answers from a script. */
#pragma once

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "operator/kube/client.h"

/* The expected request, and its answer. */
struct exchange {
	const char *method;
	const char *asked; /* must stand in the URI; several parts are separated by a blank */
	int status; /* 0: hang up without an answer */
	const char *body; /* each line is a chunk of its own when chunked */
	const char *header, *value; /* one more header, NULL */
	bool chunked;
};

struct fake_server {
	struct event_base *base;
	struct evhttp *http;
	const struct exchange *script;
	size_t n, at;
	char url[64];
	struct strbuf tokens; /* the Authorization headers, one a line */
	struct strbuf bodies; /* the request bodies, one a line */
};

static inline void check_asked(const struct exchange *x, size_t at, const char *uri)
{
	char parts[512], *rest = parts, *part;

	snprintf(parts, sizeof(parts), "%s", x->asked);
	while ((part = strsep(&rest, " ")))
		if (!strstr(uri, part))
			fail_msg("request %zu: no %s in %s", at, part, uri);
}

static inline void answer_chunks(struct evhttp_request *request, const struct exchange *x)
{
	struct evbuffer *chunk = evbuffer_new();

	evhttp_send_reply_start(request, x->status, "");
	for (const char *line = x->body; *line;) {
		const char *end = strchr(line, '\n');
		size_t len = end ? (size_t)(end - line) + 1 : strlen(line);
		evbuffer_add(chunk, line, len);
		evhttp_send_reply_chunk(request, chunk);
		line += len;
	}
	evhttp_send_reply_end(request);
	evbuffer_free(chunk);
}

static inline void on_fake_request(struct evhttp_request *request, void *arg)
{
	struct fake_server *server = arg;
	const char *uri = evhttp_request_get_uri(request);
	const char *token =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
	struct evbuffer *in = evhttp_request_get_input_buffer(request);

	if (server->at >= server->n) { /* the script is over: hold the line */
		event_base_loopbreak(server->base);
		return;
	}
	const struct exchange *x = &server->script[server->at++];
	check_asked(x, server->at - 1, uri);
	strbuf_addf(&server->tokens, "%s\n", token ? token : "-");
	if (evbuffer_get_length(in) > 0)
		strbuf_add(&server->bodies, evbuffer_pullup(in, -1), evbuffer_get_length(in));
	strbuf_addc(&server->bodies, '\n');
	if (x->header)
		evhttp_add_header(evhttp_request_get_output_headers(request), x->header, x->value);
	if (x->status == 0) {
		evhttp_connection_free(evhttp_request_get_connection(request));
	} else if (x->chunked) {
		answer_chunks(request, x);
	} else {
		struct evbuffer *body = evbuffer_new();
		evbuffer_add(body, x->body, strlen(x->body));
		evhttp_send_reply(request, x->status, "", body);
		evbuffer_free(body);
	}
}

static inline void fake_server_start(struct fake_server *server, const struct exchange *script,
				     size_t n)
{
	*server = (struct fake_server){
		.base = event_base_new(),
		.script = script,
		.n = n,
		.tokens = STRBUF_INIT(65536),
		.bodies = STRBUF_INIT(65536),
	};
	server->http = evhttp_new(server->base);
	evhttp_set_allowed_methods(server->http, 0xffff);
	evhttp_set_gencb(server->http, on_fake_request, server);
	struct evhttp_bound_socket *bound =
		evhttp_bind_socket_with_handle(server->http, "127.0.0.1", 0);
	assert_non_null(bound);
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	assert_int_equal(
		getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &len),
		0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
}

static inline void fake_server_stop(struct fake_server *server)
{
	evhttp_free(server->http);
	event_base_free(server->base);
	strbuf_release(&server->tokens);
	strbuf_release(&server->bodies);
}

/* Makes a client of the server; token_file may be NULL. */
static inline struct client *fake_client(struct fake_server *server, const char *token_file)
{
	struct kubeconfig config = { .server = strdup(server->url),
				     .namespace = strdup("default") };
	struct client *client = NULL;
	struct err err = { 0 };

	config.token_read_ns = config.files_read_ns = INT64_MAX / 2;
	if (token_file) {
		config.token.file = strdup(token_file);
		config.token.text = strdup("old");
	}
	assert_int_equal(client_new(server->base, &config, &client, &err), 0);
	return client;
}

/* Turns the loop until *done, or for half a minute. */
static inline void turn_until(struct event_base *base, const bool *done)
{
	struct timeval tv = { .tv_sec = 30 };

	event_base_loopexit(base, &tv);
	while (!*done && event_base_loop(base, EVLOOP_ONCE) == 0 && !event_base_got_exit(base))
		;
	assert_true(*done);
}
