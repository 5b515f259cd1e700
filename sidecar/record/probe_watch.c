/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the port of the pod that a liveness probe asks. */
#include "sidecar/record/probe_watch.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/units.h"

#define STATUS_AT 9 /* in "HTTP/1.1 200" */

void probe_watch_release(struct probe_watch *w)
{
	if (w->asking)
		bufferevent_free(TAKE_PTR(w->asking));
}

static void probe_answered(struct probe_watch *w, bool well)
{
	probe_watch_release(w);
	w->failed = !well && (w->was_well || w->failed);
	w->was_well = well;
}

static void on_answer(struct bufferevent *asking, void *arg)
{
	char line[STATUS_AT + 1];

	/* Without all of them, the next part, the end or the time decides. */
	if (evbuffer_copyout(bufferevent_get_input(asking), line, sizeof(line)) == sizeof(line))
		probe_answered(arg, memcmp(line, "HTTP/1.", 7) == 0 &&
					    (line[STATUS_AT] == '2' || line[STATUS_AT] == '3'));
}

static void on_probe_event(struct bufferevent *, short what, void *arg)
{
	if (!(what & BEV_EVENT_CONNECTED))
		probe_answered(arg, false);
}

void probe_watch_ask(struct probe_watch *w, struct event_base *base, const char *target,
		     int64_t now_ns)
{
	const struct timeval patience = { .tv_sec = PROBE_WITHIN_S };
	char *path;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)strtoul(target, &path, 10)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (w->asking || (w->asked_ns && now_ns - w->asked_ns < PROBE_EVERY_NS))
		return;
	w->asked_ns = now_ns;
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	w->asking = fd < 0 ? NULL : bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!w->asking)
		return;
	TAKE_FD(fd);
	bufferevent_setcb(w->asking, on_answer, NULL, on_probe_event, w);
	bufferevent_set_timeouts(w->asking, &patience, &patience);
	evbuffer_add_printf(bufferevent_get_output(w->asking),
			    "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
	/* Without a socket nothing is known. */
	if (bufferevent_enable(w->asking, EV_READ | EV_WRITE) < 0 ||
	    bufferevent_socket_connect(w->asking, (struct sockaddr *)&to, sizeof(to)) < 0)
		probe_watch_release(w);
}
