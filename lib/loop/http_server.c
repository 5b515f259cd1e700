/* SPDX-License-Identifier: Apache-2.0 */
/* Serves HTTP with evhttp. */
#include "lib/loop/http_server.h"

#include <errno.h>

#include "lib/loop/http_connections.h"
#include "lib/loop/http_listener.h"
#include "lib/units.h"

struct http_server {
	struct http_listener listener;
	struct http_connections connections;
	struct shared_text *metrics;
	size_t accepted; /* since accepting was paused last */
	void *arg;
};

/* Returns the connection's descriptor, -1 if it is gone. */
static int descriptor_of(struct evhttp_request *request)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);

	return connection ? bufferevent_getfd(evhttp_connection_get_bufferevent(connection)) : -1;
}

static void body_answer(struct http_server *s, struct evhttp_request *request, int status,
			const char *type, struct evbuffer *body)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	http_connections_answered(&s->connections, descriptor_of(request));
	if (!body) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	evhttp_add_header(headers, "Content-Type", type);
	if (!evhttp_find_header(headers, "Cache-Control"))
		evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_send_reply(request, status, NULL, body);
}

void http_answer(struct http_server *s, struct evhttp_request *request, int status,
		 const char *type, const struct strbuf *text)
{
	struct evbuffer *body = evbuffer_new();
	bool made = body && !strbuf_failed(text) &&
		    evbuffer_add(body, strbuf_str(text), text->len) == 0;

	body_answer(s, request, status, type, made ? body : NULL);
	if (body)
		evbuffer_free(body);
}

void http_answer_not_modified(struct http_server *s, struct evhttp_request *request)
{
	http_connections_answered(&s->connections, descriptor_of(request));
	evhttp_send_reply(request, HTTP_NOTMODIFIED, NULL, NULL);
}

static void http_server_on_metrics(struct evhttp_request *request, void *arg)
{
	struct http_server *s = arg;
	struct evbuffer *body = evbuffer_new();
	bool made = body && shared_text_add(s->metrics, descriptor_of(request), now_boottime_ns(),
					    body) == 0;

	body_answer(s, request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
		    made ? body : NULL);
	if (body)
		evbuffer_free(body);
}

/*
 * Accepts no more than half of the bound in one turn of the loop: many may be queued. Each then has
 * two turns in which its request is read, before as many newer ones can end it.
 */
static struct bufferevent *http_server_on_connection(struct event_base *, void *arg)
{
	struct http_server *s = arg;

	if (++s->accepted >= s->connections.max / 2) {
		s->accepted = 0;
		http_listener_pause(&s->listener, &(struct timeval){ 0 });
	}
	return http_connections_add(&s->connections);
}

static int server_init(struct http_server *s, struct event_base *base,
		       const struct http_server_options *o, struct err *err)
{
	int r = http_listener_init(&s->listener, base, o->option, o->address, err);

	if (r < 0)
		return r;
	s->arg = o->arg;
	s->metrics = shared_text_new(o->metrics_max, o->metrics, o->arg);
	if (!s->metrics || http_connections_init(&s->connections, base, o->connections_max) < 0)
		return err_set(err, ENOMEM, "%s", o->option);
	evhttp_set_bevcb(s->listener.http, http_server_on_connection, s);
	evhttp_set_allowed_methods(s->listener.http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(s->listener.http, o->headers_max);
	evhttp_set_max_body_size(s->listener.http, 0);
	evhttp_set_timeout(s->listener.http, o->idle_s);
	evhttp_set_cb(s->listener.http, "/metrics", http_server_on_metrics, s);
	return http_listener_open(&s->listener, o->backlog, err);
}

int http_server_new(struct event_base *base, const struct http_server_options *options,
		    struct http_server **ret_server, struct err *err)
{
	struct http_server *s = calloc(1, sizeof(*s));
	int r = s ? server_init(s, base, options, err) :
		    err_set(err, ENOMEM, "%s", options->option);

	if (r < 0)
		http_server_free(s);
	else
		*ret_server = s;
	return r;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	http_listener_release(&s->listener);
	shared_text_free(s->metrics);
	http_connections_release(&s->connections);
	free(s);
}

void http_server_handle(struct http_server *s, const char *path,
			void (*handler)(struct evhttp_request *, void *))
{
	evhttp_set_cb(s->listener.http, path, handler, s->arg);
}
