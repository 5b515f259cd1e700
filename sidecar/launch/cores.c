/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the cores that the search finds to the sidecar. */
#include "sidecar/launch/cores.h"

#include <poll.h>
#include <string.h>

#include "lib/macros.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/connection.h"
#include "sidecar/launch/core_watch.h"

/*
 * The search may get its turn late on a busy node; a directory on a filesystem that hangs holds up
 * the launcher no longer than this.
 */
#define FLUSH_NS NS_PER_SEC
#define REMOVE_NS (3 * NS_PER_SEC) /* the same for the removals at the very end, after a crash */

void cores_start(struct cores *c, const volatile rlim_t *core_limit, int socket_fd)
{
	struct rlimit limit;

	c->unasked = getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0;
	c->fd = core_watch_start(core_limit, socket_fd, &c->pid);
}

static void cores_search_stop(struct cores *c)
{
	closep(&c->fd);
	c->fd = -1;
}

/* Returns whether that was the answer to a flush. */
static bool relay(struct cores *c, int socket_fd)
{
	char text[LAUNCH_MESSAGE_MAX + 1];
	int fd;
	ssize_t len = connection_receive(c->fd, text, &fd);

	if (len == 0)
		cores_search_stop(c);
	if (len > 0 && strcmp(text, CORE_REMOVED) == 0)
		c->removing--;
	/*
	 * If the sidecar cannot take the message now, it gets the core after its next "again", over
	 * another connection.
	 */
	if (len > 0 && fd >= 0 && socket_fd >= 0)
		connection_send(socket_fd, text, (size_t)len, &fd, 1);
	closep(&fd);
	return len > 0 && strcmp(text, CORE_FLUSHED) == 0;
}

void cores_relay(struct cores *c, int socket_fd)
{
	if (c->fd >= 0)
		relay(c, socket_fd);
}

void cores_again(struct cores *c)
{
	if (c->fd >= 0)
		connection_send(c->fd, CORE_AGAIN, strlen(CORE_AGAIN), NULL, 0);
}

void cores_remove(struct cores *c, const char *which)
{
	if (c->fd >= 0 && c->unasked)
		c->removing += connection_sendf(c->fd, NULL, 0, CORE_REMOVE " %s", which);
}

void cores_finish(struct cores *c)
{
	int64_t until = now_ns() + REMOVE_NS, left;

	while (c->fd >= 0 && c->removing > 0 && (left = until - now_ns()) > 0) {
		struct pollfd ready = { .fd = c->fd, .events = POLLIN };

		if (poll(&ready, 1, (int)(left / NS_PER_MS) + 1) > 0)
			relay(c, -1);
	}
}

void cores_flush(struct cores *c, int socket_fd)
{
	int64_t until = now_ns() + FLUSH_NS, left;

	if (c->fd < 0 || !connection_send(c->fd, CORE_FLUSH, strlen(CORE_FLUSH), NULL, 0))
		return;
	while (c->fd >= 0 && (left = until - now_ns()) > 0) {
		struct pollfd ready = { .fd = c->fd, .events = POLLIN };

		if (poll(&ready, 1, (int)(left / NS_PER_MS) + 1) > 0 && relay(c, socket_fd))
			return;
	}
}

void cores_reaped(struct cores *c, pid_t pid)
{
	if (c->fd >= 0 && pid == c->pid)
		cores_search_stop(c);
}
