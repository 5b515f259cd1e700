/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /readyz and /metrics on evhttp. */
#include "operator/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <string.h>

#define ANSWER_MAX ((size_t)4 << 20)

struct server {
	struct evhttp *http;
	struct server_handlers handlers;
};

static void answer(struct evhttp_request *request, int code, const struct strbuf *text)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		evbuffer_add(body, strbuf_str(text), text->len);
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
			  "text/plain; version=0.0.4; charset=utf-8");
	evhttp_send_reply(request, code, NULL, body);
	if (body)
		evbuffer_free(body);
}

static void on_health(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	const struct server *server = arg;
	bool healthy = server->handlers.health(server->handlers.arg, &text);

	answer(request, healthy ? 200 : 503, &text);
}

static void on_ready(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	const struct server *server = arg;
	bool ready = server->handlers.ready(server->handlers.arg, &text);

	answer(request, ready ? 200 : 503, &text);
}

static void on_metrics(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	const struct server *server = arg;

	server->handlers.metrics(server->handlers.arg, &text);
	answer(request, strbuf_failed(&text) ? 500 : 200, &text);
}

static int parse_address(const char *address, char host[64], uint16_t *ret_port, struct err *err)
{
	const char *colon = strrchr(address, ':');
	char *end;

	if (!colon)
		return err_set(err, EINVAL, "address %s: must be ADDRESS:PORT", address);
	unsigned long port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || *end || port == 0 || port > 65535)
		return err_set(err, EINVAL, "address %s: no port", address);
	size_t len = (size_t)(colon - address);
	if (len >= 2 && address[0] == '[' && colon[-1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= 64)
		return err_set(err, EINVAL, "address %s: too long", address);
	snprintf(host, 64, "%.*s", len ? (int)len : 7, len ? address : "0.0.0.0");
	*ret_port = (uint16_t)port;
	return 0;
}

int server_new(struct event_base *base, const char *address, const struct server_handlers *handlers,
	       struct server **ret_server, struct err *err)
{
	char host[64];
	uint16_t port = 0;
	int r = parse_address(address, host, &port, err);

	if (r < 0)
		return r;
	struct server *server = calloc(1, sizeof(*server));
	if (!server)
		return err_set(err, ENOMEM, "server");
	server->handlers = *handlers;
	server->http = evhttp_new(base);
	if (!server->http || evhttp_bind_socket(server->http, host, port) < 0) {
		r = err_set(err, errno ? errno : EADDRINUSE, "listen on %s", address);
		server_free(server);
		return r;
	}
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(server->http, 16384);
	evhttp_set_max_body_size(server->http, 1024);
	evhttp_set_timeout(server->http, 30);
	evhttp_set_cb(server->http, "/healthz", on_health, server);
	evhttp_set_cb(server->http, "/readyz", on_ready, server);
	evhttp_set_cb(server->http, "/metrics", on_metrics, server);
	*ret_server = server;
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	if (server->http)
		evhttp_free(server->http);
	free(server);
}
