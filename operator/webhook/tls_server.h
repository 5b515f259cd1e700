/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The webhook's HTTPS server: evhttp over OpenSSL on the operator's loop.
 * HTTP/1.1, POST only, TLS 1.2 or later, no client certificates.
 *
 * Clients may be hostile. So the number of connections, the time for each part of a
 * request, and the memory of requests and answers are bounded. At the bound for
 * connections, the connection that has been inactive for the longest time is closed,
 * so that a new connection is always accepted.
 */
#pragma once

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

#define TLS_SERVER_HEADERS_MAX 16384
/*
 * An object of the API server has 3 MiB at most, and a review may have two of them. A longer body
 * is answered with 413.
 */
#define TLS_SERVER_BODY_MAX ((size_t)7 << 20)
#define TLS_SERVER_ANSWER_MAX ((size_t)8 << 20)
/*
 * Seconds for the handshake, for a request from its first to its last byte, and for sending its
 * answer.
 */
#define TLS_SERVER_STEP_S 10
/*
 * Seconds that a connection may be idle. The API server closes its connections after 90 s. If the
 * operator closed them first, a review could be lost in a connection that is just being closed.
 */
#define TLS_SERVER_IDLE_S 120

struct tls_server;

/*
 * path is without the query. body has len bytes. Appends JSON to answer and returns the HTTP
 * status.
 */
typedef int (*tls_handler_fn)(void *arg, const char *path, const char *content_type,
			      const char *body, size_t len, struct strbuf *answer);

/*
 * address is "0.0.0.0:9443", "[::1]:9443", or ":9443" and "[::]:9443" for IPv6 and IPv4, or for
 * IPv4 alone on a machine without IPv6. The port is taken now, and connections to it are refused
 * until the first certificate is there. Ignores SIGPIPE unless the program has a handler: OpenSSL
 * writes to sockets that clients have closed.
 */
int tls_server_new(struct event_base *base, const char *address, tls_handler_fn handler, void *arg,
		   struct tls_server **ret_server, struct err *err);
/*
 * Closes all connections. NULL is allowed. The event base must be turned or freed afterwards, as
 * with any bufferevent.
 */
void tls_server_free(struct tls_server *server);

/*
 * Takes PEM texts; the first certificate is the server's own, others are sent with it. New
 * connections use it; open connections keep their certificate. On failure nothing changes.
 */
int tls_server_set_certificate(struct tls_server *server, const char *cert_pem, const char *key_pem,
			       struct err *err);
/* Returns whether connections are accepted. */
bool tls_server_is_open(const struct tls_server *server);

/*
 * Accepts no more connections and closes idle ones; requests under way are answered. on_idle (NULL:
 * none) is called once, from the loop, when no connection is left: at the latest after
 * TLS_SERVER_STEP_S seconds for each step.
 */
void tls_server_stop(struct tls_server *server, void (*on_idle)(void *arg), void *arg);

/* For tests: other times than TLS_SERVER_STEP_S and TLS_SERVER_IDLE_S. */
void tls_server_set_times(struct tls_server *server, int step_ms, int idle_ms);
size_t tls_server_connections(const struct tls_server *server);
