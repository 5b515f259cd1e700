/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listens on the node's socket and serves the connections of the node agent and of its core
 * handler, which opens a connection for each core. A connection that does not come from the node
 * (node_peer.h) is closed without an answer.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/node/node_message.h"

#define NODES_MAX 16 /* connections at a time; further connections are closed */

struct nodes_callbacks {
	/* Returns 0 if the core of that process is wanted; otherwise err has the reason. */
	int (*offer)(const struct node_message *offer, void *arg, struct err *err);
	/*
	 * Opens the file for a core that is wanted, and sets how many bytes it may have. Called in
	 * an errand, because a disk may not answer; if it fails or is late, the offer is refused.
	 * One process at a time waits for that disk, however many cores come.
	 */
	int (*open)(uint64_t *ret_room, void *arg, struct err *err);
	/*
	 * The core of an accepted offer comes from fd, which may be any kind of file. Takes fd and
	 * the file.
	 */
	void (*core)(const struct node_message *offer, int fd, int file, uint64_t room, void *arg);
	/* Gets every message that is not about cores. May be NULL. */
	void (*other)(const char *text, size_t len, void *arg);
	/*
	 * A connection that brought such messages has ended, so they were all that it brings. May
	 * be NULL.
	 */
	void (*other_over)(void *arg);
	void *arg;
};

struct nodes;

/*
 * Listens on path at once. callbacks is copied. Errors are those of bind(2) and listen(2), or
 * -ENOMEM.
 */
int nodes_new(struct event_base *base, const char *path, const struct nodes_callbacks *callbacks,
	      struct nodes **ret_nodes, struct err *err);
/* Closes the socket and all connections. n may be NULL. */
void nodes_free(struct nodes *n);
