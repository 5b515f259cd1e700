/* SPDX-License-Identifier: Apache-2.0 */
/* /healthz, /readyz and /metrics for the kubelet and Prometheus. */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

struct server;

struct server_handlers {
	/* Append why to out; true: 200, false: 503. */
	bool (*health)(void *arg, struct strbuf *out);
	bool (*ready)(void *arg, struct strbuf *out);
	void (*metrics)(void *arg, struct strbuf *out);
	void *arg;
};

/* address is that of lib/listen_address.h. */
int server_new(struct event_base *base, const char *address, const struct server_handlers *handlers,
	       struct server **ret_server, struct err *err);
void server_free(struct server *server);
