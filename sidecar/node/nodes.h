/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the node agent, and of the program that it leaves on the node for cores: each core comes on a connection of its
 * own. Listens on the node's socket; who is not the node (node_peer) is dropped without an answer.
 */
#ifndef AFTERGLOW_SIDECAR_NODE_NODES_H
#define AFTERGLOW_SIDECAR_NODE_NODES_H

#include <event2/event.h>
#include <stdbool.h>

#include "lib/err.h"
#include "sidecar/node/node_message.h"

#define NODES_MAX 16 /* connections at a time; what comes beyond is dropped */

struct nodes_callbacks {
	/* Whether the core of that process is wanted; if not, err says why. */
	int (*offer)(const struct node_message *offer, void *arg, struct err *err);
	/* Its stream, for which offer said yes. Takes fd, which may be anything. */
	void (*core)(const struct node_message *offer, int fd, void *arg);
	/* Any other message: what it means is not the connection's business. May be NULL. */
	void (*other)(const char *text, size_t len, void *arg);
	void *arg;
};

struct nodes;

/* Listens on path at once. callbacks is copied. */
int nodes_new(struct event_base *base, const char *path, const struct nodes_callbacks *callbacks, struct nodes **ret_nodes,
	      struct err *err);
/* NULL is allowed. */
void nodes_free(struct nodes *n);

#endif
