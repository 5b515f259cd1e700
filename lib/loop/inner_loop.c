/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an event loop inside another one.
 *
 * Theory of operation: the inner base waits by an epoll descriptor, which is readable when one of its events is due. The outer base
 * watches that descriptor, and a timer of the outer base stands for the inner one's next timeout.
 *
 * libevent leaves the inner base only when none of its events is active. A client that always has one
 * more request would keep it there, so a timer with a higher priority ends each turn.
 */
#include "lib/loop/inner_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/loop/timer.h"
#include "lib/macros.h"

static const struct timeval turn_max = { .tv_usec = INNER_LOOP_TURN_MS * 1000 };

struct inner_loop {
	struct event_base *base;
	struct event *readable, *timer; /* events of the outer base */
	struct event *enough; /* of the inner one */
	bool turning;
};

static bool is_epoll(int fd)
{
	static const char name[] = "anon_inode:[eventpoll]";
	char path[40], target[sizeof(name)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target)) == sizeof(name) - 1 && memcmp(target, name, sizeof(name) - 1) == 0;
}

/*
 * libevent does not give away its epoll descriptor. It opens that descriptor first, so it gets the
 * lowest free number.
 */
static int open_base(struct event_base **ret_base, struct err *err)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, errno, "open /");
	close(fd);
	struct event_config *config = event_config_new();
	if (!config)
		return err_set(err, ENOMEM, "event loop");
	event_config_set_max_dispatch_interval(config, &turn_max, -1, 1);
	*ret_base = event_base_new_with_config(config);
	event_config_free(config);
	if (!*ret_base)
		return err_set(err, ENOMEM, "event loop");
	event_base_priority_init(*ret_base, 2);
	if (is_epoll(fd))
		return fd;
	event_base_free(TAKE_PTR(*ret_base));
	return err_set(err, ENOTSUP, "an event loop without epoll");
}

static int find_next(const struct event_base *, const struct event *e, void *arg)
{
	struct timeval *next = arg, at;

	if (event_pending(e, EV_TIMEOUT, &at) && (!timerisset(next) || timercmp(&at, next, <)))
		*next = at;
	return 0;
}

static void inner_loop_set_timer(struct inner_loop *l)
{
	struct timeval next = { 0 }, now, left = { 0 };

	event_base_foreach_event(l->base, find_next, &next);
	event_del(l->timer);
	if (event_base_get_num_events(l->base, EVENT_BASE_COUNT_ACTIVE) == 0) {
		if (!timerisset(&next))
			return;
		evutil_gettimeofday(&now, NULL);
		if (timercmp(&next, &now, >))
			timersub(&next, &now, &left);
	}
	event_add(l->timer, &left);
}

void inner_loop_turn(struct inner_loop *l)
{
	if (l->turning)
		return;
	l->turning = true;
	event_add(l->enough, &turn_max);
	event_base_loop(l->base, EVLOOP_NONBLOCK);
	event_del(l->enough);
	l->turning = false;
	inner_loop_set_timer(l);
}

static void inner_loop_on_enough(evutil_socket_t, short, void *arg)
{
	event_base_loopbreak(arg);
}

static void inner_loop_on_due(evutil_socket_t, short, void *arg)
{
	inner_loop_turn(arg);
}

int inner_loop_new(struct event_base *outer, struct inner_loop **ret_loop, struct err *err)
{
	struct inner_loop *l = calloc(1, sizeof(*l));
	int fd = l ? open_base(&l->base, err) : err_set(err, ENOMEM, "event loop");

	if (fd >= 0) {
		l->readable = event_new(outer, fd, EV_READ | EV_PERSIST, inner_loop_on_due, l);
		l->timer = evtimer_new(outer, inner_loop_on_due, l);
		l->enough = evtimer_new(l->base, inner_loop_on_enough, l->base);
		if (!l->readable || !l->timer || !l->enough || event_priority_set(l->enough, 0) < 0 ||
		    event_add(l->readable, NULL) < 0)
			fd = err_set(err, ENOMEM, "event loop");
	}
	if (fd < 0) {
		inner_loop_free(l);
		return fd;
	}
	*ret_loop = l;
	return 0;
}

void inner_loop_free(struct inner_loop *l)
{
	if (!l)
		return;
	event_drop(l->readable);
	event_drop(l->timer);
	event_drop(l->enough);
	if (l->base)
		event_base_free(l->base);
	free(l);
}

struct event_base *inner_loop_base(const struct inner_loop *l)
{
	return l->base;
}
