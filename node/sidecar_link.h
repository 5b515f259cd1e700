/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's end of its connection to the sidecar of a pod (lib/node_protocol.h). The sidecar is a tenant's neighbour: what it
 * answers is hostile, and so is its directory. No link is followed there, and the listener has to be a process of the very pod.
 */
#ifndef AFTERGLOW_NODE_SIDECAR_LINK_H
#define AFTERGLOW_NODE_SIDECAR_LINK_H

#include <sys/types.h>

#include "lib/err.h"
#include "lib/node_protocol.h"

/*
 * Connects and says "node VERSION". pods is the kubelet's directory of pods, proc a procfs of the node's first PID namespace.
 * pod_uid: as pod_of_process gives it. crashed: a process that dumps core now, which cannot answer; 0: there is none. Never blocks.
 * -ENOENT, -ECONNREFUSED: the pod has no sidecar now; -EAGAIN: it has too many connections; -EPERM: somebody else listens there.
 */
int sidecar_link_open(const char *pods, const char *proc, const char *pod_uid, pid_t crashed, int *ret_fd, struct err *err);

/* Sends one message, with a descriptor unless pass_fd is -1; it stays the caller's. Never blocks: -EAGAIN. */
int sidecar_link_send(int fd, const char *text, int pass_fd, struct err *err);

/* The next message, with a final NUL; descriptors that come along are closed. -ETIMEDOUT, -EPIPE: the sidecar is gone. */
int sidecar_link_receive(int fd, int within_ms, char ret_text[static NODE_MESSAGE_MAX + 1], struct err *err);

#endif
