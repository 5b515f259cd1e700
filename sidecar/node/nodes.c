/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the connections of the node agent and of its core handler. */
#include "sidecar/node/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/background.h"
#include "lib/loop/timer.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/node/node_peer.h"
#include "sidecar/socket/channel.h"
#include "sidecar/socket/discard.h"
#include "sidecar/socket/listener.h"

#define OPEN_WITHIN_NS (1500 * NS_PER_MS) /* for a disk that answers */

/* The file for a core, as the errand opened it. */
struct opened {
	uint64_t room;
	struct err err;
};

struct node_connection {
	struct nodes *owner;
	int fd;
	struct event *readable; /* NULL: the place is free */
	bool greeted;
	bool asking; /* the offer waits for its file */
	int file; /* of an offer that was accepted with "take", until its core comes; -1: none */
	uint64_t room;
	bool brought; /* messages that are not about cores */
	struct node_message offer;
};

struct nodes {
	struct event_base *base;
	struct listener *listener;
	struct nodes_callbacks callbacks;
	struct node_connection connections[NODES_MAX];
	struct background opening;
	struct node_connection *opening_for; /* NULL: it is gone, or no errand is under way */
	struct opened opened;
	int file; /* what the errand has opened; -1: nothing so far */
};

static void nodes_drop(struct node_connection *c)
{
	bool brought = c->brought;

	if (!c->readable)
		return;
	event_free(c->readable);
	discard_connection(c->fd);
	discard(&c->file, 1);
	if (c->owner->opening_for == c)
		c->owner->opening_for = NULL;
	*c = (struct node_connection){ .owner = c->owner, .fd = -1, .file = -1 };
	if (brought && c->owner->callbacks.other_over)
		c->owner->callbacks.other_over(c->owner->callbacks.arg);
}

/* err code 0: the file has come. */
static void answer_offer(struct node_connection *c, const struct err *err)
{
	c->asking = false;
	if (launch_send(c->fd, err->code ? "refuse" : "take", err->code ? err_text(err) : NULL,
			NULL) < 0)
		nodes_drop(c);
}

/* The body of the errand. */
static void nodes_open(int fd, void *arg)
{
	const struct nodes *n = arg;
	struct opened opened = { .room = 0 };
	int file = n->callbacks.open(&opened.room, n->callbacks.arg, &opened.err);

	errand_send(fd, &opened, sizeof(opened), file);
}

static void on_opened(const void *data, size_t len, int *passed_fd, void *arg)
{
	struct nodes *n = arg;

	if (len == sizeof(n->opened))
		memcpy(&n->opened, data, len);
	discard(&n->file, 1);
	n->file = TAKE_FD(*passed_fd);
}

static void nodes_open_next(struct nodes *n);

static void on_opening_over(bool in_time, void *arg)
{
	struct nodes *n = arg;
	struct node_connection *c = TAKE_PTR(n->opening_for);
	int file = TAKE_FD(n->file);

	if (file < 0 && !n->opened.err.code)
		err_set(&n->opened.err, in_time ? ECHILD : ETIMEDOUT,
			in_time ? "the file for the core" :
				  "the disk for the core does not answer");
	if (c) {
		c->file = TAKE_FD(file);
		c->room = n->opened.room;
		answer_offer(c, &n->opened.err);
	}
	discard(&file, 1);
	nodes_open_next(n);
}

/* Opens a file for the first connection that waits for one. */
static void nodes_open_next(struct nodes *n)
{
	for (struct node_connection *c = n->connections;
	     c < n->connections + NODES_MAX && !n->opening.event; c++) {
		struct err err = { 0 };

		if (!c->asking)
			continue;
		n->opened = (struct opened){ .room = 0 };
		if (background_start(&n->opening, n->base, nodes_open, n, OPEN_WITHIN_NS, on_opened,
				     on_opening_over, n, &err) >= 0)
			n->opening_for = c;
		else
			answer_offer(c, &err);
	}
}

static void take_offer(struct node_connection *c, const struct node_message *m)
{
	struct err err = { 0 };

	if (c->asking)
		return;
	discard(&c->file, 1);
	c->file = -1;
	c->offer = *m;
	c->asking = c->owner->callbacks.offer(m, c->owner->callbacks.arg, &err) == 0;
	if (c->asking)
		nodes_open_next(c->owner);
	else
		answer_offer(c, &err);
}

/* Returns false if the message is invalid; then the connection is closed. */
static bool nodes_take_message(struct node_connection *c, const struct node_message *m,
			       const char *text, size_t len, int *fd)
{
	if (m->verb == NODE_HELLO)
		c->greeted = true;
	else if (!c->greeted)
		return false;
	else if (m->verb == NODE_OFFER)
		take_offer(c, m);
	else if (m->verb == NODE_OTHER && c->owner->callbacks.other) {
		c->brought = true;
		c->owner->callbacks.other(text, len, c->owner->callbacks.arg);
	} else if (m->verb == NODE_CORE && c->file >= 0 && *fd >= 0) {
		c->owner->callbacks.core(&c->offer, TAKE_FD(*fd), TAKE_FD(c->file), c->room,
					 c->owner->callbacks.arg);
	}
	return true;
}

static void nodes_on_readable(evutil_socket_t fd, short, void *arg)
{
	struct node_connection *c = arg;
	char text[LAUNCH_MESSAGE_MAX];
	int fds[LAUNCH_FDS_MAX] = { -1, -1, -1 };
	struct node_message m;
	struct err err = { 0 };
	size_t len, n = 0;
	int rc = launch_receive((int)fd, text, &len, fds, &n, &err);

	if (rc == -EAGAIN)
		return;
	if (rc > 0 && (node_message_parse(text, len, &m, &err) < 0 ||
		       !nodes_take_message(c, &m, text, len, &fds[0]))) {
		log_warning_limited("closed a connection of the node agent: %s",
				    err.code ? err_text(&err) :
					       "its first message is not \"node\"");
		rc = 0;
	}
	discard(fds, n);
	if (rc <= 0)
		nodes_drop(c);
}

static struct node_connection *nodes_free_place(struct nodes *n)
{
	for (size_t i = 0; i < NODES_MAX; i++)
		if (!n->connections[i].readable)
			return &n->connections[i];
	return NULL;
}

static void nodes_on_connection(int connection, void *arg)
{
	struct nodes *n = arg;
	struct node_connection *place = nodes_free_place(n);

	if (!node_peer_is_node(connection))
		log_warning_limited(
			"closed a connection to the node's socket, because it does not come from the node");
	else if (!place)
		log_warning_limited(
			"the node agent has more than %d connections at a time: closed one",
			NODES_MAX);
	else {
		*place = (struct node_connection){ .owner = n, .fd = connection, .file = -1 };
		place->readable = event_new(n->base, connection, EV_READ | EV_PERSIST,
					    nodes_on_readable, place);
		if (place->readable && event_add(place->readable, NULL) == 0)
			return;
		event_drop(TAKE_PTR(place->readable));
	}
	discard_connection(connection);
}

int nodes_new(struct event_base *base, const char *path, const struct nodes_callbacks *callbacks,
	      struct nodes **ret_nodes, struct err *err)
{
	struct nodes *n = calloc(1, sizeof(*n));

	if (!n)
		return err_set(err, ENOMEM, "the node's socket");
	n->base = base;
	n->callbacks = *callbacks;
	n->opening = BACKGROUND_NONE;
	n->file = -1;
	int rc = listener_new(base, path, nodes_on_connection, n, &n->listener, err);
	if (rc == 0)
		rc = listener_start(n->listener, err);
	if (rc < 0) {
		nodes_free(n);
		return err_wrap(err, "the node's socket");
	}
	*ret_nodes = n;
	return 0;
}

void nodes_free(struct nodes *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < NODES_MAX; i++)
		nodes_drop(&n->connections[i]);
	background_cancel(&n->opening);
	discard(&n->file, 1);
	listener_free(n->listener);
	free(n);
}
