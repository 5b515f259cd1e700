/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the connections of the webhook's server: their number, the state of each and since when,
 * and how much of a request it holds.
 *
 * evhttp reports a connection only when its first request is complete. So each connection is
 * tracked by its SSL object from its creation to its end, which OpenSSL reports (ex_data). To end a
 * connection in any state, its socket is shut down and evhttp is given the end of the stream; then
 * evhttp frees the connection.
 */
#pragma once

#include <event2/bufferevent.h>
#include <openssl/ssl.h>

/*
 * At more, of the address that has the most, the one that has been inactive for the longest time is
 * ended.
 */
#define TLS_SERVER_CONNECTIONS_MAX 256
/*
 * Bytes of all connections: of requests that are being received and of answers that are not sent
 * yet. Above it, of the address that holds the most, the connection that holds the most is closed.
 * A busy API server has a hundred reviews of 40 kB under way.
 */
#define TLS_SERVER_HELD_MAX ((size_t)24 << 20)

struct tls_connection;

struct tls_connections {
	struct event_base *base;
	/* first: the connection that has been inactive for the longest time */
	struct tls_connection *first, *last;
	size_t n, n_ended; /* of which so many are shut down and not yet gone */
	size_t held; /* bytes of requests and answers under way */
	int step_ms, idle_ms; /* how long a step may take, and how long a connection may be idle */
	void (*on_none)(void *arg); /* called when the last connection has ended; may be NULL */
	void *arg;
};

/* Makes a bufferevent for evhttp, which owns it. Returns NULL if there is no memory. */
struct bufferevent *tls_connections_add(struct tls_connections *all, SSL_CTX *context);
/* Ends those without a request under way. */
void tls_connections_end_idle(struct tls_connections *all);
/* Connections that still exist will not use all afterwards. */
void tls_connections_forget(struct tls_connections *all);

/* Returns the connection of a bufferevent; NULL if it is not a TLS connection of ours. */
struct tls_connection *tls_connection_of(struct bufferevent *bev);
/*
 * Call this when its request is complete and no longer held, with the bytes of the answer that is
 * to be sent; and when that is sent, so that the next request may come. A client that does not read
 * its answer may be disconnected at once.
 */
void tls_connection_answering(struct tls_connection *connection, size_t answer_len);
void tls_connection_answered(struct tls_connection *connection);
