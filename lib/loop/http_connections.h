/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the connections of an HTTP server, because every pod of the cluster may reach its port:
 * each connection costs the buffers of an unfinished request. At the bound, of the connections of
 * the address that has the most, the one that has been inactive for the longest time is closed. So
 * a pod that opens many ends its own, and not those of the kubelet and of Prometheus.
 *
 * evhttp does not report the end of a connection before its first request. So a connection is known
 * by its descriptor and the cookie that the kernel gives each socket once: when the descriptor has
 * another cookie, or none, the connection has ended. To end one, its socket is shut down; evhttp
 * then meets the end of the stream and frees it.
 */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

/* The largest bound. One connection may cost about 50 KiB. */
#define HTTP_CONNECTIONS_MAX 64

struct http_connection {
	evutil_socket_t fd;
	uint64_t cookie; /* SO_COOKIE of fd */
	struct in6_addr peer;
	uint64_t turn; /* of all, when it was opened or answered last */
};

struct http_connections {
	struct event_base *base;
	struct event *settle;
	struct bufferevent *fresh; /* evhttp gives it its descriptor later; NULL: there is none */
	struct http_connection known[HTTP_CONNECTIONS_MAX];
	size_t n, max;
	uint64_t turn;
};

/*
 * max is the bound: at most HTTP_CONNECTIONS_MAX. Returns 0 or -ENOMEM. all must not move until it
 * is released.
 */
int http_connections_init(struct http_connections *all, struct event_base *base, size_t max);
/* Connections that still exist stay open. */
void http_connections_release(struct http_connections *all);
/* Makes a bufferevent for evhttp, which owns it. Returns NULL if there is no memory. */
struct bufferevent *http_connections_add(struct http_connections *all);
/* Returns the address of the other end, IPv4 as IPv6 has it; zero if it is gone already. */
struct in6_addr http_connections_peer(evutil_socket_t fd);
/* Call this when a request of that connection is answered. */
void http_connections_answered(struct http_connections *all, evutil_socket_t fd);
