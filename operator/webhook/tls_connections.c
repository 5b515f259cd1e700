/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks the connections of the webhook's server. */
#include "operator/webhook/tls_connections.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/loop/http_connections.h"
#include "lib/loop/timer.h"
#include "lib/macros.h"

/*
 * The rest of a body that is too long is read up to this limit, so that the client reads the answer
 * 413.
 */
#define REQUEST_MAX ((size_t)8 << 20)

enum phase { HANDSHAKE, IDLE, REQUEST, ANSWER };

struct tls_connection {
	struct tls_connections *all; /* NULL: the server has been freed */
	struct tls_connection *prev, *next;
	struct bufferevent *bev;
	struct event *deadline;
	enum phase phase;
	struct in6_addr peer; /* zero: not known yet */
	size_t sum; /* used by tls_connections_end_one */
	/* bytes of the request so far, or of the answer and what follows the request */
	size_t held;
	size_t answer_len; /* of which so many are the answer */
	bool ended; /* its socket has been shut down */
};

static int ex_index = -1;

/* --- The list, in the order of their latest activity ----------------------------------------- */

static void unlink_from(struct tls_connections *all, struct tls_connection *c)
{
	*(c->prev ? &c->prev->next : &all->first) = c->next;
	*(c->next ? &c->next->prev : &all->last) = c->prev;
	c->prev = c->next = NULL;
}

static void append_to(struct tls_connections *all, struct tls_connection *c)
{
	c->prev = all->last;
	*(all->last ? &all->last->next : &all->first) = c;
	all->last = c;
}

/* A connection that has ended holds nothing, because nobody could end it again to free that. */
static void tls_connections_hold(struct tls_connection *c, size_t bytes)
{
	bytes = c->ended ? 0 : bytes;
	if (c->all)
		c->all->held += bytes - c->held;
	c->held = bytes;
}

/*
 * --- Ends
 * -------------------------------------------------------------------------------------------------
 */

/*
 * Ends the connection. Its memory is freed in the next turn of the loop, but stops counting now:
 * otherwise every connection might be ended to stay within the bound.
 */
static void tls_connections_end(struct tls_connection *c)
{
	evutil_socket_t fd = bufferevent_getfd(c->bev);

	tls_connections_hold(c, 0);
	if (c->ended || fd < 0)
		return;
	c->ended = true;
	if (c->all)
		c->all->n_ended++;
	shutdown(fd, SHUT_RDWR);
	/* While libevent does not read, it would not notice the end of the socket. */
	bufferevent_trigger_event(c->bev, BEV_EVENT_EOF | BEV_EVENT_READING,
				  BEV_TRIG_DEFER_CALLBACKS);
}

/* Called last for an SSL object: its connection is gone. */
static void on_ssl_free(void *, void *ptr, CRYPTO_EX_DATA *, int, long, void *)
{
	struct tls_connection *c = ptr;
	struct tls_connections *all = c ? c->all : NULL;

	if (!c)
		return;
	tls_connections_hold(c, 0);
	if (all) {
		unlink_from(all, c);
		all->n_ended -= c->ended;
	}
	event_free(c->deadline);
	free(c);
	if (all && --all->n == 0 && all->on_none)
		all->on_none(all->arg);
}

static void tls_connections_on_deadline(evutil_socket_t, short, void *arg)
{
	tls_connections_end(arg);
}

void tls_connections_end_idle(struct tls_connections *all)
{
	for (struct tls_connection *c = all->first; c; c = c->next)
		if (c->phase == IDLE)
			tls_connections_end(c);
}

void tls_connections_forget(struct tls_connections *all)
{
	while (all->first) {
		struct tls_connection *c = all->first;

		unlink_from(all, c);
		c->all = NULL;
		event_del(c->deadline);
	}
	all->n = all->n_ended = 0;
}

/*
 * Returns the first connection of the same address. evhttp gives a connection its descriptor, and
 * so its address, late.
 */
static struct tls_connection *first_of_address(const struct tls_connections *all,
					       struct tls_connection *c)
{
	struct tls_connection *first = all->first;

	if (IN6_IS_ADDR_UNSPECIFIED(&c->peer) && bufferevent_getfd(c->bev) >= 0)
		c->peer = http_connections_peer(bufferevent_getfd(c->bev));
	while (!IN6_ARE_ADDR_EQUAL(&first->peer, &c->peer))
		first = first->next;
	return first;
}

/*
 * Ends a connection of the address that has the most of them, the oldest; or, if bytes are to be
 * freed, of the address that holds the most of these, the biggest. So a neighbour who opens many
 * ends none of the API server's.
 */
static void tls_connections_end_one(struct tls_connections *all, bool bytes)
{
	struct tls_connection *most = NULL, *end = NULL;

	for (struct tls_connection *c = all->first; c; c = c->next) {
		struct tls_connection *first = first_of_address(all, c);

		first->sum = (first == c ? 0 : first->sum) + (bytes ? c->held : !c->ended);
		most = !most || first->sum > most->sum ? first : most;
	}
	for (struct tls_connection *c = most; c; c = c->next)
		if (!c->ended && IN6_ARE_ADDR_EQUAL(&c->peer, &most->peer) &&
		    (!end || (bytes && c->held > end->held)))
			end = c;
	if (end)
		tls_connections_end(end);
}

/*
 * --- Phases
 * -----------------------------------------------------------------------------------------------
 */

static void tls_connections_enter(struct tls_connection *c, enum phase phase)
{
	c->phase = phase;
	if (!c->all)
		return;
	int ms = phase == IDLE ? c->all->idle_ms : c->all->step_ms;
	event_add(c->deadline, &(struct timeval){ ms / 1000, ms % 1000 * 1000 });
}

static void keep_bound(struct tls_connections *all)
{
	while (all && all->held > TLS_SERVER_HELD_MAX)
		tls_connections_end_one(all, true);
}

void tls_connection_answering(struct tls_connection *c, size_t answer_len)
{
	c->answer_len = answer_len;
	tls_connections_hold(c, answer_len);
	tls_connections_enter(c, ANSWER);
	keep_bound(c->all);
}

void tls_connection_answered(struct tls_connection *c)
{
	tls_connections_hold(c, c->held - MIN(c->held, c->answer_len));
	tls_connections_enter(c, IDLE);
	if (!c->all)
		return;
	unlink_from(c->all, c);
	append_to(c->all, c);
}

/* Without renegotiation this can only be the end of a handshake. */
static void on_ssl_info(const SSL *ssl, int where, int)
{
	struct tls_connection *c = SSL_get_ex_data(ssl, ex_index);

	if ((where & SSL_CB_HANDSHAKE_DONE) && c && c->phase == HANDSHAKE)
		tls_connections_enter(c, IDLE);
}

/*
 * Also counts a client that goes on sending without reading an answer, because libevent would read
 * all of it.
 */
static void on_input(struct evbuffer *, const struct evbuffer_cb_info *info, void *arg)
{
	struct tls_connection *c = arg;

	if (info->n_added == 0 || c->ended || !c->all)
		return;
	if (c->phase == IDLE)
		tls_connections_enter(c, REQUEST);
	tls_connections_hold(c, c->held + info->n_added);
	if (c->held > REQUEST_MAX)
		tls_connections_end(c);
	keep_bound(c->all);
}

/*
 * --- Beginning
 * --------------------------------------------------------------------------------------------
 */

static struct tls_connection *connection_new(struct tls_connections *all, SSL *ssl)
{
	struct tls_connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->deadline = evtimer_new(all->base, tls_connections_on_deadline, c);
	if (!c->deadline || SSL_set_ex_data(ssl, ex_index, c) != 1) {
		event_drop(c->deadline);
		free(c);
		return NULL;
	}
	c->all = all;
	append_to(all, c);
	all->n++;
	return c;
}

struct bufferevent *tls_connections_add(struct tls_connections *all, SSL_CTX *context)
{
	if (ex_index < 0)
		ex_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, on_ssl_free);
	SSL *ssl = ex_index >= 0 ? SSL_new(context) : NULL;
	struct tls_connection *c = ssl ? connection_new(all, ssl) : NULL;
	if (!c) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_info_callback(ssl, on_ssl_info);
	c->bev = bufferevent_openssl_socket_new(all->base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
						BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev || !evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c)) {
		if (c->bev)
			bufferevent_free(c->bev); /* this frees ssl and c as well */
		else
			SSL_free(ssl);
		return NULL;
	}
	bufferevent_openssl_set_allow_dirty_shutdown(c->bev, 1);
	tls_connections_enter(c, HANDSHAKE);
	if (all->n - all->n_ended > TLS_SERVER_CONNECTIONS_MAX)
		tls_connections_end_one(all, false);
	return c->bev;
}

struct tls_connection *tls_connection_of(struct bufferevent *bev)
{
	SSL *ssl = bev ? bufferevent_openssl_get_ssl(bev) : NULL;

	return ssl && ex_index >= 0 ? SSL_get_ex_data(ssl, ex_index) : NULL;
}
