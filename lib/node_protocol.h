/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node agent and the sidecar of a pod say to each other, over a SOCK_SEQPACKET unix socket: one message is "VERB ARGS",
 * text without a final NUL, at most NODE_MESSAGE_MAX bytes. Both ends ignore verbs they do not know, so that either may be the
 * newer one.
 *
 * The socket is NODE_SOCKET_NAME in the emptyDir volume NODE_VOLUME, which only the sidecar mounts. The node reaches it below the
 * kubelet's directory; a container of the pod does not. The sidecar takes a connection only from the node's root whose process is
 * in none of the sidecar's PID namespaces (docs/node-agent.md has the reasons).
 *
 * node -> sidecar
 *   node VERSION
 *	first, once per connection.
 *   offer CONTAINER_ID PID SIGNAL COMM
 *	a process of that container is dumping core. PID is that in its own PID namespace; COMM is printable and has no
 *	blanks, "-" is none. The sidecar answers "take" or "refuse REASON".
 *   core
 *	after "take": the descriptor that comes along is the reading end of a pipe with the core.
 *
 * sidecar -> node
 *   take
 *   refuse REASON
 */
#ifndef AFTERGLOW_LIB_NODE_PROTOCOL_H
#define AFTERGLOW_LIB_NODE_PROTOCOL_H

#define NODE_PROTOCOL_VERSION 1
#define NODE_MESSAGE_MAX 4096
#define NODE_VOLUME "afterglow-node"
#define NODE_SOCKET_NAME "node.sock"

#endif
