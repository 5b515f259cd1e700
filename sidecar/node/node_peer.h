/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a connection to the node's socket comes from the node. Two things have to hold together:
 *
 * - The peer's process is in none of our PID namespaces: the kernel gives it the PID 0. Where containers of a pod share one
 *   (shareProcessNamespace), a process of the same user could reach our mounts through /proc/PID/root; it has a PID here.
 * - The peer is the node's root. Where each container has its own PID namespace, all others have the PID 0 here, and root in the Ray
 *   container is root; but the socket is in a volume that the sidecar alone mounts, and our mounts are not reached from there.
 *
 * Where the pod is in the node's PID namespace (hostPID) the agent has a PID, too, and nothing is believed to be the node.
 */
#ifndef AFTERGLOW_SIDECAR_NODE_NODE_PEER_H
#define AFTERGLOW_SIDECAR_NODE_NODE_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

/* Pure. uid_map: the text of /proc/self/uid_map. overflow_uid: which uid the kernel shows for one that is not mapped. */
bool node_peer_is_root_of_node(const struct ucred *peer, const char *uid_map, uid_t overflow_uid);

/* Of a connection. */
bool node_peer_is_node(int connection);

#endif
