/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the node agent's event loop. */
#include "node/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "lib/units.h"

int loop_add(struct loop *l, struct source *s, struct err *err)
{
	if (l->n == LOOP_SOURCES_MAX)
		return err_set(err, ENOBUFS, "%s: more than %d sources of events", s->name,
			       LOOP_SOURCES_MAX);
	l->sources[l->n++] = s;
	return 0;
}

void loop_remove(struct loop *l, struct source *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->sources[i] == s) {
			l->sources[i] = l->sources[--l->n];
			return;
		}
}

void loop_stop(struct loop *l)
{
	l->stopping = true;
}

static int wait_ms(const struct loop *l, int64_t now_ns)
{
	int64_t next = LOOP_NEVER;

	for (size_t i = 0; i < l->n; i++)
		next = MIN(next, l->sources[i]->due_ns);
	if (next == LOOP_NEVER)
		return -1;
	return next <= now_ns ? 0 : (int)MIN((next - now_ns) / NS_PER_MS + 1, (int64_t)INT_MAX);
}

static bool loop_is_there(const struct loop *l, const struct source *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->sources[i] == s)
			return true;
	return false;
}

static int loop_turn(struct loop *l, struct err *err)
{
	struct pollfd fds[LOOP_SOURCES_MAX];
	struct source *sources[LOOP_SOURCES_MAX];
	size_t n = l->n;

	for (size_t i = 0; i < n; i++) {
		sources[i] = l->sources[i];
		fds[i] = (struct pollfd){ .fd = sources[i]->fd, .events = POLLIN };
	}
	if (poll(fds, n, wait_ms(l, now_boottime_ns())) < 0)
		return errno == EINTR ? 0 : err_set(err, errno, "poll");
	int64_t now = now_boottime_ns();
	/* The callback of one source may remove another source, or close its descriptor. */
	for (size_t i = 0; i < n; i++) {
		if (fds[i].revents && loop_is_there(l, sources[i]) && sources[i]->fd == fds[i].fd)
			sources[i]->ready(sources[i]);
		if (loop_is_there(l, sources[i]) && sources[i]->due_ns <= now)
			sources[i]->due(sources[i], now);
	}
	return 0;
}

int loop_run(struct loop *l, struct err *err)
{
	while (!l->stopping) {
		int rc = loop_turn(l, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}
