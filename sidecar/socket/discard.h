/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes descriptors that other processes made, without waiting.
 *
 * Theory of operation: close(2) may sleep: on a socket with SO_LINGER until the peer has taken the
 * data, on a file of a FUSE or network filesystem until its server has answered, and on a
 * connection until all descriptors in its unread messages are closed. So a child that shares the
 * sidecar's table of descriptors (CLONE_FILES) closes them: the number is free at once, and only
 * the child sleeps.
 */
#pragma once

#include <stddef.h>

/* that sleep over a close at a time; what comes beyond stays open until one is done */
#define DISCARD_CHILDREN_MAX 16

/* Closes those of the n descriptors that are not -1. */
void discard(const int *fds, size_t n);

/* Closes a connection of a launcher together with its unread messages. fd may be -1. */
void discard_connection(int fd);
