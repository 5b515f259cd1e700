/* SPDX-License-Identifier: Apache-2.0 */
/* Serves /healthz, /readyz and /metrics with evhttp. */
#include "operator/manager/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/listen_address.h"
#include "lib/log.h"
#include "lib/loop/shared_text.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/manager/http_connections.h"

/*
 * The kernel drops the probe of a kubelet that finds the queue full, and the kubelet tries again a
 * second later. What a flood brings while the loop is busy for a tenth of a second is to fit.
 */
#define BACKLOG 1024
#define ANSWER_MAX ((size_t)4 << 20)

struct server {
	struct evhttp *http;
	struct evconnlistener *listener; /* of http */
	struct event *listen_again;
	struct http_connections connections;
	struct shared_text *metrics;
	size_t accepted; /* since accepting was paused last */
	struct server_handlers handlers;
};

/*
 * The server of this process. It is static because evhttp passes its own argument to a listener's
 * error callback.
 */
static struct server *the_server;

/* Returns the connection's descriptor, -1 if it is gone. */
static int descriptor_of(struct evhttp_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);

	return connection ? bufferevent_getfd(evhttp_connection_get_bufferevent(connection)) : -1;
}

static void answer(struct server *server, struct evhttp_request *request, int code,
		   struct evbuffer *body)
{
	http_connections_answered(&server->connections, descriptor_of(request));
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
			  "text/plain; version=0.0.4; charset=utf-8");
	evhttp_send_reply(request, code, NULL, body);
}

static void answer_text(struct server *server, struct evhttp_request *request, int code,
			const struct strbuf *text)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		evbuffer_add(body, strbuf_str(text), text->len);
	answer(server, request, code, body);
	if (body)
		evbuffer_free(body);
}

static void on_health(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	struct server *server = arg;
	bool healthy = server->handlers.health(server->handlers.arg, &text);

	answer_text(server, request, healthy ? 200 : 503, &text);
}

static void on_ready(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	struct server *server = arg;
	bool ready = server->handlers.ready(server->handlers.arg, &text);

	answer_text(server, request, ready ? 200 : 503, &text);
}

static void on_metrics(struct evhttp_request *request, void *arg)
{
	struct server *server = arg;
	struct evbuffer *body = evbuffer_new();
	bool made = body && shared_text_add(server->metrics, descriptor_of(request),
					    now_boottime_ns(), body) == 0;

	answer(server, request, made ? 200 : 500, body);
	if (body)
		evbuffer_free(body);
}

static void on_listen_again(evutil_socket_t fd, short what, void *arg)
{
	struct server *server = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(server->listener);
}

static void pause_accepting(struct server *server, const struct timeval *pause)
{
	server->accepted = 0;
	if (event_add(server->listen_again, pause) == 0)
		evconnlistener_disable(server->listener);
}

/*
 * Called when no descriptor is left. Otherwise libevent would log that and try again at once, for
 * ever.
 */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	(void)listener;
	(void)arg;
	log_warning_limited("--metrics-address: cannot accept a connection: %s", strerror(EVUTIL_SOCKET_ERROR()));
	pause_accepting(the_server, &(struct timeval){ .tv_sec = 1 });
}

static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
	struct server *server = arg;

	(void)base;
	/* The rest waits until what has come is read. */
	if (++server->accepted == HTTP_CONNECTIONS_BATCH)
		pause_accepting(server, &(struct timeval){ 0 });
	return http_connections_add(&server->connections);
}

static int bind_to(const char *address, int *ret_fd, struct err *err)
{
	const char *colon = strrchr(address, ':');
	uint16_t port;

	if (!colon || !listen_address_is_valid(address) || strtoul(colon + 1, NULL, 10) == 0)
		return err_set(err, EINVAL, "--metrics-address takes ADDRESS:PORT, [IPV6]:PORT or :PORT, with a port from 1 to 65535, not %.100s",
			       address);
	int r = listen_address_bind(address, ret_fd, &port, err);
	return r < 0 ? err_wrap(err, "--metrics-address") : 0;
}

/* Takes fd, even if it fails. */
static int listen_on(struct server *server, struct event_base *base, int fd, struct err *err)
{
	struct evhttp_bound_socket *bound = NULL;

	server->listen_again = evtimer_new(base, on_listen_again, server);
	server->http = evhttp_new(base);
	server->metrics =
		shared_text_new(ANSWER_MAX, server->handlers.metrics, server->handlers.arg);
	int r = http_connections_init(&server->connections, base);
	if (listen(fd, BACKLOG) < 0) {
		int code = errno;

		close(fd);
		return err_set(err, code, "--metrics-address");
	}
	if (server->http && server->listen_again && server->metrics && r == 0)
		bound = evhttp_accept_socket_with_handle(server->http, fd);
	if (!bound) {
		close(fd);
		return err_set(err, ENOMEM, "server");
	}
	server->listener = evhttp_bound_socket_get_listener(bound);
	the_server = server;
	evhttp_set_bevcb(server->http, on_connection, server);
	evconnlistener_set_error_cb(server->listener, on_accept_error);
	return 0;
}

int server_new(struct event_base *base, const char *address, const struct server_handlers *handlers,
	       struct server **ret_server, struct err *err)
{
	_cleanup_close_ int fd = -1;
	int r = bind_to(address, &fd, err);

	if (r < 0)
		return r;
	struct server *server = calloc(1, sizeof(*server));
	if (!server)
		return err_set(err, ENOMEM, "server");
	server->handlers = *handlers;
	r = listen_on(server, base, TAKE_FD(fd), err);
	if (r < 0) {
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
	shared_text_free(server->metrics);
	http_connections_release(&server->connections);
	if (server->listen_again)
		event_free(server->listen_again);
	free(server);
}
