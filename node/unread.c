/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what sidecars have not read. */
#include "node/unread.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/macros.h"

size_t unread_room(struct unread *u, const char *pod_uid)
{
	size_t n = 0, of_all = 0, of_pod = 0, links = 0, share;

	for (size_t i = 0; i < u->n; i++) {
		const struct unread_link link = u->links[i];
		bool own = strcmp(link.pod_uid, pod_uid) == 0;
		int bytes = 0;

		/* A sidecar that has shut its end down, and not closed it, may still hold bytes. */
		ioctl(link.fd, TIOCOUTQ, &bytes);
		if (bytes <= 0 && poll(&(struct pollfd){ .fd = link.fd }, 1, 0) != 0) {
			close(link.fd);
			continue;
		}
		of_all += (size_t)bytes;
		of_pod += own ? (size_t)bytes : 0;
		links += own;
		u->links[n++] = link;
	}
	u->n = n;
	share = MAX((UNREAD_BYTES_MAX - MIN(of_all, UNREAD_BYTES_MAX)) / 2, UNREAD_BYTES_MIN);
	if (n == UNREAD_LINKS_MAX || share <= of_pod ||
	    links >= (n < UNREAD_LINKS_MAX / 2 ? UNREAD_LINKS_OF_POD : UNREAD_LINKS_MIN))
		return 0;
	return share - of_pod;
}

void unread_keep(struct unread *u, const char *pod_uid, int fd)
{
	struct unread_link *link = &u->links[u->n++];

	shutdown(fd, SHUT_WR);
	link->fd = fd;
	snprintf(link->pod_uid, sizeof(link->pod_uid), "%s", pod_uid);
}

void unread_release(struct unread *u)
{
	while (u->n > 0)
		close(u->links[--u->n].fd);
}
