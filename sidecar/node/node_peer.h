/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a connection to the node's socket comes from the node agent. Both conditions must
 * hold:
 *
 * - The peer's process is outside of the sidecar's PID namespace, so the kernel shows its PID as 0.
 *   In a pod with shareProcessNamespace, a process of the same user could reach the socket through
 *   /proc/PID/root of the sidecar, but it has a PID here.
 * - The peer is root on the node. If each container has its own PID namespace, all other containers
 *   have the PID 0 here, and root in the Ray container may be root on the node. But the socket is
 *   in a volume that only the sidecar mounts, and such a container cannot reach it.
 *
 * In a pod with hostPID the agent has a PID here, too. Then no connection is accepted.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Decides that from the peer's credentials. Pure. uid_map: the text of /proc/self/uid_map, "" if it
 * cannot be read (the result is then false). overflow_uid: the uid that the kernel shows for a uid
 * that is not mapped.
 */
bool node_peer_is_root_of_node(const struct ucred *peer, const char *uid_map, uid_t overflow_uid);

/*
 * Decides it for the peer of a connected unix socket. False if the kernel's answer cannot be read.
 */
bool node_peer_is_node(int connection);
