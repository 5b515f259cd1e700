/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the webhook's HTTPS server. */
#include "operator/webhook/tls_server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <openssl/ssl.h>
#include <signal.h>

#include "lib/loop/http_listener.h"
#include "lib/loop/timer.h"
#include "operator/webhook/tls_connections.h"
#include "operator/webhook/tls_context.h"

#define BACKLOG 128
/* Connections that are ending count here, too. At this number nothing is accepted for a moment. */
#define ACCEPTED_MAX (TLS_SERVER_CONNECTIONS_MAX + BACKLOG)
#define BREATH_US 10000

struct tls_server {
	struct http_listener listener; /* opened with the first certificate */
	struct event *idle;
	SSL_CTX *context; /* NULL: there is no certificate yet */
	struct tls_connections connections;
	tls_handler_fn handler;
	void *arg;
	bool stopping;
	void (*on_idle)(void *arg);
	void *idle_arg;
};

/*
 * --- Requests
 * ---------------------------------------------------------------------------------------------
 */

static void on_answered(struct evhttp_request *, void *arg)
{
	tls_connection_answered(arg);
}

static void tls_server_answer(const struct tls_server *server, struct evhttp_request *request,
			      int status, const struct strbuf *text)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evbuffer_new();

	if (body)
		evbuffer_add(body, strbuf_str(text), text->len);
	evhttp_add_header(headers, "Content-Type", "application/json");
	if (server->stopping)
		evhttp_add_header(headers, "Connection", "close");
	evhttp_send_reply(request, status, NULL, body);
	if (body)
		evbuffer_free(body);
}

static int ask_handler(const struct tls_server *server, struct evhttp_request *request,
		       struct strbuf *text)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(request);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
	const char *type =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
	size_t len = evbuffer_get_length(in);
	const char *body = len ? (const char *)evbuffer_pullup(in, -1) : "";
	int status = body ? server->handler(server->arg, path && *path ? path : "/",
					    type ? type : "", body, len, text) :
			    500;

	/* libevent keeps the body until the client has read the answer. */
	evbuffer_drain(in, len);
	return strbuf_failed(text) || status < 200 || status > 599 ? 500 : status;
}

/*
 * Answers a request. If no TLS connection could be made, libevent falls back to a plain socket;
 * such a request is not answered.
 */
static void tls_server_on_request(struct evhttp_request *request, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TLS_SERVER_ANSWER_MAX);
	const struct tls_server *server = arg;
	struct evhttp_connection *http = evhttp_request_get_connection(request);
	struct tls_connection *connection =
		tls_connection_of(evhttp_connection_get_bufferevent(http));

	if (!connection) {
		evhttp_connection_free(http);
		return;
	}
	evhttp_request_set_on_complete_cb(request, on_answered, connection);
	int status = 405;
	if (evhttp_request_get_command(request) == EVHTTP_REQ_POST)
		status = ask_handler(server, request, &text);
	else
		evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "POST");
	if (status == 500)
		strbuf_reset(&text);
	tls_connection_answering(connection, text.len);
	tls_server_answer(server, request, status, &text);
}

/*
 * --- Accepting
 * --------------------------------------------------------------------------------------------
 */

static struct bufferevent *on_accept(struct event_base *, void *arg)
{
	struct tls_server *server = arg;

	if (server->connections.n >= ACCEPTED_MAX)
		http_listener_pause(&server->listener, &(struct timeval){ .tv_usec = BREATH_US });
	return tls_connections_add(&server->connections, server->context);
}

int tls_server_set_certificate(struct tls_server *server, const char *cert_pem, const char *key_pem,
			       struct err *err)
{
	SSL_CTX *context;
	int r = tls_context_new(cert_pem, key_pem, &context, err);

	if (r < 0)
		return r;
	if (!server->listener.bound && !server->stopping)
		r = http_listener_open(&server->listener, BACKLOG, err);
	if (r < 0) {
		SSL_CTX_free(context);
		return r;
	}
	SSL_CTX_free(server->context);
	server->context = context;
	return 0;
}

/*
 * --- Stopping
 * ---------------------------------------------------------------------------------------------
 */

static void on_idle_event(evutil_socket_t, short, void *arg)
{
	struct tls_server *server = arg;

	if (server->on_idle)
		TAKE_PTR(server->on_idle)(server->idle_arg);
}

/* The callback that ends a connection must not call anything that may free the server. */
static void on_no_connection(void *arg)
{
	struct tls_server *server = arg;

	if (server->stopping)
		event_active(server->idle, 0, 0);
}

void tls_server_stop(struct tls_server *server, void (*on_idle)(void *arg), void *arg)
{
	server->stopping = true;
	server->on_idle = on_idle;
	server->idle_arg = arg;
	http_listener_close(&server->listener);
	tls_connections_end_idle(&server->connections);
	if (server->connections.n == 0)
		event_active(server->idle, 0, 0);
}

/*
 * --- Life
 * -------------------------------------------------------------------------------------------------
 */

static void ignore_sigpipe(void)
{
	struct sigaction action;

	if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
		signal(SIGPIPE, SIG_IGN);
}

static int start_http(struct tls_server *server, struct event_base *base, const char *address,
		      struct err *err)
{
	int r = http_listener_init(&server->listener, base, "--webhook-address", address, err);
	struct evhttp *http = server->listener.http;

	if (r < 0)
		return r;
	server->idle = evtimer_new(base, on_idle_event, server);
	if (!server->idle)
		return err_set(err, ENOMEM, "HTTPS server");
	/* Methods other than POST get our own answer */
	evhttp_set_allowed_methods(http, 0xffff);
	evhttp_set_max_headers_size(http, TLS_SERVER_HEADERS_MAX);
	evhttp_set_max_body_size(http, (ev_ssize_t)TLS_SERVER_BODY_MAX);
	/* Our own limits are shorter. */
	evhttp_set_timeout(http, TLS_SERVER_IDLE_S + TLS_SERVER_STEP_S);
	evhttp_set_flags(http, EVHTTP_SERVER_LINGERING_CLOSE);
	evhttp_set_bevcb(http, on_accept, server);
	evhttp_set_gencb(http, tls_server_on_request, server);
	return 0;
}

int tls_server_new(struct event_base *base, const char *address, tls_handler_fn handler, void *arg,
		   struct tls_server **ret_server, struct err *err)
{
	struct tls_server *server = calloc(1, sizeof(*server));

	if (!server)
		return err_set(err, ENOMEM, "HTTPS server");
	server->handler = handler;
	server->arg = arg;
	server->connections = (struct tls_connections){ .base = base,
							.on_none = on_no_connection,
							.arg = server };
	tls_server_set_times(server, TLS_SERVER_STEP_S * 1000, TLS_SERVER_IDLE_S * 1000);
	int r = start_http(server, base, address, err);
	if (r < 0) {
		tls_server_free(server);
		return r;
	}
	ignore_sigpipe();
	*ret_server = server;
	return 0;
}

void tls_server_free(struct tls_server *server)
{
	if (!server)
		return;
	tls_connections_forget(&server->connections);
	http_listener_release(&server->listener);
	event_drop(server->idle);
	SSL_CTX_free(server->context);
	free(server);
}

void tls_server_set_times(struct tls_server *server, int step_ms, int idle_ms)
{
	server->connections.step_ms = step_ms;
	server->connections.idle_ms = idle_ms;
}

bool tls_server_is_open(const struct tls_server *server)
{
	return server->listener.listener != NULL;
}

size_t tls_server_connections(const struct tls_server *server)
{
	return server->connections.n;
}
