/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds the connections of an HTTP server. */
#include "lib/loop/http_connections.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/loop/timer.h"
#include "lib/macros.h"

static bool read_cookie(evutil_socket_t fd, uint64_t *ret_cookie)
{
	socklen_t len = sizeof(*ret_cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, ret_cookie, &len) == 0;
}

struct in6_addr http_connections_peer(evutil_socket_t fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from = { 0 };
	struct in6_addr peer = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	socklen_t len = sizeof(from);

	if (getpeername(fd, &from.any, &len) < 0)
		return (struct in6_addr){ 0 };
	if (from.any.sa_family == AF_INET6)
		return from.v6.sin6_addr;
	memcpy(&peer.s6_addr[12], &from.v4.sin_addr, sizeof(from.v4.sin_addr));
	return peer;
}

static bool is_open(const struct http_connection *connection)
{
	uint64_t cookie;

	return read_cookie(connection->fd, &cookie) && cookie == connection->cookie;
}

static void forget_ended(struct http_connections *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (is_open(&all->known[i]))
			all->known[n++] = all->known[i];
	all->n = n;
}

static size_t count_of(const struct http_connections *all, const struct in6_addr *peer)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += IN6_ARE_ADDR_EQUAL(&all->known[i].peer, peer);
	return n;
}

/* Ends the oldest connection of the address that has the most. */
static void end_one(struct http_connections *all)
{
	struct http_connection *end = &all->known[0];
	size_t most = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct http_connection *c = &all->known[i];
		size_t n = count_of(all, &c->peer);

		if (n > most || (n == most && c->turn < end->turn))
			end = c;
		most = MAX(most, n);
	}
	shutdown(end->fd, SHUT_RDWR);
	*end = all->known[--all->n];
}

static void http_connections_know(struct http_connections *all, evutil_socket_t fd)
{
	uint64_t cookie;

	if (!read_cookie(fd, &cookie))
		return; /* evhttp has closed it already */
	if (all->n == all->max)
		forget_ended(all);
	if (all->n == all->max)
		end_one(all);
	all->known[all->n++] = (struct http_connection){
		.fd = fd,
		.cookie = cookie,
		.peer = http_connections_peer(fd),
		.turn = ++all->turn,
	};
}

/* The reference keeps its descriptor from being closed and used again meanwhile. */
static void settle_fresh(struct http_connections *all)
{
	struct bufferevent *fresh = TAKE_PTR(all->fresh);

	if (!fresh)
		return;
	http_connections_know(all, bufferevent_getfd(fresh));
	bufferevent_decref(fresh);
}

static void http_connections_on_settle(evutil_socket_t, short, void *arg)
{
	settle_fresh(arg);
}

int http_connections_init(struct http_connections *all, struct event_base *base, size_t max)
{
	*all = (struct http_connections){ .base = base,
					  .settle = evtimer_new(base, http_connections_on_settle,
								all),
					  .max = max };
	return all->settle ? 0 : -ENOMEM;
}

void http_connections_release(struct http_connections *all)
{
	event_drop(all->settle);
	if (all->fresh)
		bufferevent_decref(all->fresh);
	*all = (struct http_connections){ 0 };
}

struct bufferevent *http_connections_add(struct http_connections *all)
{
	settle_fresh(all);
	all->fresh = bufferevent_socket_new(all->base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!all->fresh)
		return NULL;
	bufferevent_incref(all->fresh);
	event_active(all->settle, 0, 0);
	return all->fresh;
}

void http_connections_answered(struct http_connections *all, evutil_socket_t fd)
{
	settle_fresh(all);
	for (size_t i = 0; i < all->n; i++)
		if (all->known[i].fd == fd && is_open(&all->known[i]))
			all->known[i].turn = ++all->turn;
}
