/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a connection to the node's socket comes from the node agent. */
#include "sidecar/node/node_peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"

#define UID_MAP_MAX (16 * 1024) /* enough for the 340 lines that the kernel allows */
#define OVERFLOW_UID 65534

/*
 * Returns the uid that the node's root has here. In a user namespace that does not map root, it is
 * the uid that stands for all unmapped users.
 */
static uid_t root_of_node(const char *uid_map, uid_t overflow_uid)
{
	for (const char *line = uid_map; *line;) {
		unsigned int inside, outside, count;

		if (sscanf(line, "%u %u %u", &inside, &outside, &count) == 3 && outside == 0 &&
		    count > 0)
			return inside;
		line = strchrnul(line, '\n');
		line += *line == '\n';
	}
	return overflow_uid;
}

bool node_peer_is_root_of_node(const struct ucred *peer, const char *uid_map, uid_t overflow_uid)
{
	return peer->pid == 0 && *uid_map && peer->uid == root_of_node(uid_map, overflow_uid);
}

static uid_t read_overflow_uid(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(32);
	unsigned int uid;

	if (file_read(AT_FDCWD, "/proc/sys/kernel/overflowuid", &text, NULL) < 0 ||
	    sscanf(strbuf_str(&text), "%u", &uid) != 1)
		return OVERFLOW_UID;
	return uid;
}

bool node_peer_is_node(int connection)
{
	_cleanup_strbuf_ struct strbuf map = STRBUF_INIT(UID_MAP_MAX);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       size == sizeof(peer) && file_read(AT_FDCWD, "/proc/self/uid_map", &map, NULL) == 0 &&
	       node_peer_is_root_of_node(&peer, strbuf_str(&map), read_overflow_uid());
}
