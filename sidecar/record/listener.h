/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar's socket: launchers connect to it. Whatever runs in the Ray container may connect as well, as often as it likes,
 * and each connection costs files and time: so they are taken at a bounded pace, and the rest waits in the kernel's queue, which
 * is bounded too.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_LISTENER_H
#define AFTERGLOW_SIDECAR_RECORD_LISTENER_H

#include <event2/event.h>
#include <stdint.h>

#include "lib/err.h"

#define LISTENER_BURST 64 /* connections that are taken at once after a quiet time */
#define LISTENER_PER_S 20 /* on average */

struct listener;

/*
 * Listens on path at once, so that launchers can connect; takes connections from listener_start on. Everybody may connect who
 * can reach path: the launchers run under any uid. fn takes fd.
 */
int listener_new(struct event_base *base, const char *path, void (*fn)(int fd, void *arg), void *arg, struct listener **ret_listener,
		 struct err *err);
int listener_start(struct listener *l, struct err *err);
/* Removes the socket. */
void listener_free(struct listener *l);

/*
 * Pure. How many ns the next connection has to wait, 0: it is taken now, and *due_ns, which is 0 in the beginning, counts it.
 */
int64_t listener_pace(int64_t *due_ns, int64_t now_ns);

#endif
