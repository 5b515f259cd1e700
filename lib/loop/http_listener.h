/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listens for evhttp on a TCP address. The address is taken at once; connections are refused until
 * the listener is opened. When no descriptor is left, it waits for a second: libevent would log
 * that and try again at once, for ever.
 */
#pragma once

#include <event2/event.h>
#include <event2/http.h>
#include <stdint.h>

#include "lib/err.h"

struct http_listener {
	struct http_listener *next; /* all are in a list */
	struct evhttp *http; /* the caller sets its callbacks and limits */
	struct evhttp_bound_socket *bound; /* NULL: not open */
	struct evconnlistener *listener; /* that of `bound` */
	struct event_base *base;
	struct event *again;
	const char *option; /* that has the address, for messages */
	int fd; /* bound, not yet listening; -1: the listener has it */
	uint16_t port;
};

/*
 * address is that of listen_address.h. option must outlive the listener, which must not move.
 * Release it also after a failure.
 */
int http_listener_init(struct http_listener *l, struct event_base *base, const char *option,
		       const char *address, struct err *err);
/* Stops accepting and ends all connections. It may be zero. */
void http_listener_release(struct http_listener *l);

/* Accepts connections from now on; the kernel queues so many. */
int http_listener_open(struct http_listener *l, int backlog, struct err *err);
/* Accepts no more connections. Those that exist go on. */
void http_listener_close(struct http_listener *l);
/* Accepts none for a while. */
void http_listener_pause(struct http_listener *l, const struct timeval *pause);
