/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the node agent and the sidecar of a pod, over a SOCK_SEQPACKET unix socket:
 * one message is "VERB ARGS", text without a final NUL, at most NODE_MESSAGE_MAX bytes. Both ends
 * ignore unknown verbs, so that either may be the newer one.
 *
 * The socket is NODE_SOCKET_NAME in the emptyDir volume NODE_VOLUME, which only the sidecar mounts.
 * The node reaches it below the kubelet's directory; a container of the pod does not. The sidecar
 * takes a connection only from the node's root whose process is in none of the sidecar's PID
 * namespaces (docs/node-agent.md has the reasons).
 *
 * node -> sidecar
 *   node VERSION
 *	comes first, once per connection.
 *   offer CONTAINER_ID PID SIGNAL COMM
 *	a process of that container is dumping core. PID is its number in its own PID namespace;
 *	COMM is printable and has no blanks, "-" stands for an empty name. The sidecar answers
 *	"take" or "refuse REASON".
 *   core
 *	follows "take": the message carries the reading end of a pipe with the core.
 *   signal CONTAINER_ID PID SIGNAL TIME_NS SENDER SENDER_PID SENDER_UID PLACE COMM
 *	a process of that container got a signal that usually ends it. PID is its number in the
 *	container, 0 unknown; TIME_NS is CLOCK_BOOTTIME. SENDER is the PID of the sending process
 *	on the node, SENDER_PID its PID in its own PID namespace, 0 unknown; SENDER_UID as the node
 *	counts, -1 unknown. PLACE is "node", the sender's container ID if it is in the same pod,
 *	"pod" (the same pod, the container is not known), "other-pod", or "unknown". COMM is the
 *	rest of the message, printable, may have blanks, may be empty.
 *   oom CONTAINER_ID PID TIME_NS
 *	the OOM killer killed that process.
 *   kernel PRIORITY TIME_US TEXT
 *	a record of the kernel log that concerns the pod, facility 0. TIME_US is by the log's own
 *	clock; TEXT is the rest, escaped as /dev/kmsg does.
 *   syslog TEXT
 *	a line of the node's syslog that names the pod or a container of it; printable, cut if it
 *	is longer than a message.
 *   watching SECONDS
 *	for this time, unless the message comes again, the node sees such signals, and sends their
 *	messages within milliseconds.
 *
 * While no sidecar listens, the node keeps the messages that prove how a container ended: "oom",
 * "signal" with a SIGKILL to its first process, and the "kernel" lines of an OOM kill. It sends
 * them before anything else once the sidecar listens. The sidecar may never have met the container.
 *
 * sidecar -> node
 *   take
 *   refuse REASON
 */
#pragma once

#define NODE_PROTOCOL_VERSION 1
#define NODE_MESSAGE_MAX 4096
#define NODE_VOLUME "afterglow-node"
#define NODE_SOCKET_NAME "node.sock"
