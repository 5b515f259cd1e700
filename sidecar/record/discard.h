/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes descriptors that others made, without waiting.
 *
 * Theory of operation: a close may sleep. That of a socket with SO_LINGER does until its data are taken, that of a file on a FUSE or
 * network filesystem until its server has answered, and that of a connection until all descriptors in its unread messages are
 * closed. So they are closed by a child that shares our table of descriptors (CLONE_FILES): the number is free at once, and
 * whoever sleeps is the child.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_DISCARD_H
#define AFTERGLOW_SIDECAR_RECORD_DISCARD_H

#include <stddef.h>

#define DISCARD_CHILDREN_MAX 16 /* that sleep over a close at a time; what comes beyond stays open until one is done */

/* Closes those of the n that are not -1. */
void discard(const int *fds, size_t n);

/* Closes a connection of a launcher, with the messages that nobody has read. -1 is allowed. */
void discard_connection(int fd);

#endif
