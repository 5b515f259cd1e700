/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds what sidecars have not read. The kernel counts a message for the sender's memory until it
 * is read, even when the sender has closed the connection long ago. So a pod with a listener of its
 * own that accepts thousands of connections and reads none would have the agent killed at its
 * memory limit, for all pods. The connection itself counts for the agent, too, until the listener
 * closes it. So the agent keeps each connection, whose end the sidecar sees, until all was read and
 * the sidecar has closed it.
 */
#pragma once

#include <stddef.h>

#include "node/pod_of_process.h"

#define UNREAD_LINKS_MAX 512 /* of all pods; also descriptors */
#define UNREAD_LINKS_OF_POD 16 /* and UNREAD_LINKS_MIN when half of UNREAD_LINKS_MAX are taken */
#define UNREAD_LINKS_MIN 2
/*
 * Bytes of all pods, as the kernel counts them. A pod gets half of what is left of them, and the
 * second number in any case.
 */
#define UNREAD_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define UNREAD_BYTES_MIN ((size_t)64 * 1024)

/* Starts zeroed. */
struct unread {
	struct unread_link {
		int fd;
		char pod_uid[POD_UID_MAX + 1];
	} links[UNREAD_LINKS_MAX];
	size_t n;
};

/*
 * Closes the connections that the sidecars have closed. Returns how many bytes a further connection
 * to the pod may hold; 0: there is to be none now.
 */
size_t unread_room(struct unread *u, const char *pod_uid);
/* Takes a connection for which there was room, after the last message. */
void unread_keep(struct unread *u, const char *pod_uid, int fd);
void unread_release(struct unread *u);
