/* SPDX-License-Identifier: Apache-2.0 */
/* Listens for evhttp on a TCP address. */
#include "lib/loop/http_listener.h"

#include <errno.h>
#include <event2/listener.h>
#include <string.h>

#include "lib/listen_address.h"
#include "lib/log.h"
#include "lib/loop/timer.h"

/* All listeners, because evhttp passes its own argument to a listener's error callback. */
static struct http_listener *the_listeners;

static void on_listen_again(evutil_socket_t, short, void *arg)
{
	struct http_listener *l = arg;

	if (l->listener)
		evconnlistener_enable(l->listener);
}

void http_listener_pause(struct http_listener *l, const struct timeval *pause)
{
	if (l->listener && event_add(l->again, pause) == 0)
		evconnlistener_disable(l->listener);
}

static void on_accept_error(struct evconnlistener *listener, void *)
{
	struct http_listener *l = the_listeners;

	while (l && l->listener != listener)
		l = l->next;
	if (!l)
		return;
	log_warning_limited("%s: cannot accept a connection: %s", l->option,
			    strerror(EVUTIL_SOCKET_ERROR()));
	http_listener_pause(l, &(struct timeval){ .tv_sec = 1 });
}

int http_listener_init(struct http_listener *l, struct event_base *base, const char *option,
		       const char *address, struct err *err)
{
	*l = (struct http_listener){
		.next = the_listeners, .base = base, .option = option, .fd = -1
	};
	the_listeners = l;
	if (listen_address_bind(address, &l->fd, &l->port, err) < 0)
		return err_wrap(err, "%s", option);
	l->http = evhttp_new(base);
	l->again = evtimer_new(base, on_listen_again, l);
	return l->http && l->again ? 0 : err_set(err, ENOMEM, "%s", option);
}

int http_listener_open(struct http_listener *l, int backlog, struct err *err)
{
	const unsigned int flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC;
	struct evconnlistener *listener =
		evconnlistener_new(l->base, NULL, NULL, flags, backlog, l->fd);

	if (!listener)
		return err_set(err, errno ? errno : EADDRINUSE, "%s: listen at port %u", l->option,
			       l->port);
	l->fd = -1;
	l->bound = evhttp_bind_listener(l->http, listener);
	if (!l->bound) {
		evconnlistener_free(listener);
		return err_set(err, ENOMEM, "%s: listen at port %u", l->option, l->port);
	}
	l->listener = listener;
	evconnlistener_set_error_cb(listener, on_accept_error);
	return 0;
}

void http_listener_close(struct http_listener *l)
{
	event_del(l->again);
	l->listener = NULL;
	if (l->bound)
		evhttp_del_accept_socket(l->http, TAKE_PTR(l->bound));
}

void http_listener_release(struct http_listener *l)
{
	struct http_listener **at = &the_listeners;

	while (*at && *at != l)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = l->next;
	if (l->http)
		evhttp_free(l->http);
	event_drop(l->again);
	closep(&l->fd);
}
