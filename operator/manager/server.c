/* SPDX-License-Identifier: Apache-2.0 */
/* Serves /healthz, /readyz and /metrics. */
#include "operator/manager/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/listen_address.h"
#include "lib/loop/http_connections.h"
#include "lib/loop/http_server.h"

#define OPTION "--metrics-address"
/* Prometheus and the kubelet need one each. */
#define CONNECTIONS_MAX HTTP_CONNECTIONS_MAX
/*
 * The kernel drops the probe of a kubelet that finds the queue full, and the kubelet tries again a
 * second later. What a flood brings while the loop is busy for a tenth of a second is to fit.
 */
#define BACKLOG 1024
#define ANSWER_MAX ((size_t)4 << 20)
#define HEADERS_MAX 16384
#define IDLE_S 30

struct server {
	struct http_server *http;
	struct server_handlers handlers;
};

static void state_answer(struct server *server, struct evhttp_request *request,
			 bool (*state)(void *arg, struct strbuf *out))
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	bool good = state(server->handlers.arg, &text);

	http_answer(server->http, request, good ? 200 : 503, HTTP_TEXT_PLAIN, &text);
}

static void on_health(struct evhttp_request *request, void *arg)
{
	struct server *server = arg;

	state_answer(server, request, server->handlers.health);
}

static void on_ready(struct evhttp_request *request, void *arg)
{
	struct server *server = arg;

	state_answer(server, request, server->handlers.ready);
}

static void metrics_render(void *arg, struct strbuf *out)
{
	struct server *server = arg;

	server->handlers.metrics(server->handlers.arg, out);
}

int server_new(struct event_base *base, const char *address, const struct server_handlers *handlers,
	       struct server **ret_server, struct err *err)
{
	const char *colon = strrchr(address, ':');
	struct server *server;

	if (!colon || !listen_address_is_valid(address) || strtoul(colon + 1, NULL, 10) == 0)
		return err_set(
			err, EINVAL,
			OPTION
			" takes ADDRESS:PORT, [IPV6]:PORT or :PORT, with a port from 1 to 65535, not %.100s",
			address);
	server = calloc(1, sizeof(*server));
	if (!server)
		return err_set(err, ENOMEM, OPTION);
	server->handlers = *handlers;
	int r = http_server_new(base,
				&(struct http_server_options){ .option = OPTION,
							       .address = address,
							       .connections_max = CONNECTIONS_MAX,
							       .backlog = BACKLOG,
							       .headers_max = HEADERS_MAX,
							       .idle_s = IDLE_S,
							       .metrics_max = ANSWER_MAX,
							       .metrics = metrics_render,
							       .arg = server },
				&server->http, err);
	if (r < 0) {
		free(server);
		return r;
	}
	http_server_handle(server->http, "/healthz", on_health);
	http_server_handle(server->http, "/readyz", on_ready);
	*ret_server = server;
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	http_server_free(server->http);
	free(server);
}
