/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections to a socket of the sidecar: those of launchers, and of who asks for stacks.
 * Any process of the Ray container may connect as well, as often as it likes, and each connection
 * costs files and time. So connections are accepted at a bounded rate; the rest wait in the
 * kernel's queue, which is bounded too.
 */
#pragma once

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"

#define LISTENER_BURST 64 /* connections that are taken at once after a quiet time */
#define LISTENER_PER_S 20 /* on average */

struct listener;

/*
 * Listens on path at once, so that launchers can connect; accepts connections from listener_start
 * on. Every process that can reach path may connect, because launchers run under any uid. fn takes
 * fd.
 */
int listener_new(struct event_base *base, const char *path, void (*fn)(int fd, void *arg),
		 void *arg, struct listener **ret_listener, struct err *err);
/*
 * Does the same for a socket that is bound and listens, and that it takes in any case; from: who
 * connects, for the log.
 */
int listener_adopt(struct event_base *base, int socket_fd, const char *from,
		   void (*fn)(int fd, void *arg), void *arg, struct listener **ret_listener,
		   struct err *err);
int listener_start(struct listener *l, struct err *err);
/* Accepts nothing until listener_start. */
void listener_stop(struct listener *l);
/* Removes the socket, but not that of another listener that has taken its place. */
void listener_free(struct listener *l);
