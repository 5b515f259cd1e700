/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node agent's end of its connection to the sidecar of a pod (lib/node_protocol.h). The sidecar
 * runs in a tenant's pod, so its answers and its directory are not trusted: no symbolic link is
 * followed there, and the process that listens must belong to that pod.
 */
#pragma once

#include <sys/types.h>

#include "lib/err.h"
#include "lib/node_protocol.h"

/*
 * Connects and sends "node VERSION". pods is the kubelet's directory of pods, proc a procfs of the
 * node's initial PID namespace. pod_uid: as in struct pod_of_process. crashed: a process that is
 * dumping core and so cannot answer, 0: none. Never blocks. -ENOENT: the pod is to have no sidecar;
 * -ECONNREFUSED: its sidecar does not listen now; -EAGAIN: the sidecar has too many connections;
 * -EPERM: the process that listens is not of that pod, or the agent does not run with hostPID.
 *
 * The caller closes *ret_fd, which is also set on a failure after connecting: until the listener
 * closes its end, the connection takes memory that counts for the caller. Otherwise it is
 * unchanged.
 */
int sidecar_link_open(const char *pods, const char *proc, const char *pod_uid, pid_t crashed,
		      int *ret_fd, struct err *err);

/*
 * Sends a message of at most NODE_MESSAGE_MAX bytes (else -EMSGSIZE), with the descriptor pass_fd
 * unless that is -1; pass_fd stays the caller's. Never blocks; -EAGAIN: the sidecar does not read.
 */
int sidecar_link_send(int fd, const char *text, int pass_fd, struct err *err);

/*
 * How much the connection still takes before the sidecar reads: the sum of the messages' costs, on
 * every kernel from 4.18 on. len: bytes of a message.
 */
size_t sidecar_link_room(int fd);
size_t sidecar_link_cost(size_t len);

/*
 * Waits up to within_ms for the next message, which gets a final NUL; descriptors that come with it
 * are closed. -ETIMEDOUT: no message came; -EPIPE: the sidecar has closed the connection.
 */
int sidecar_link_receive(int fd, int within_ms, char ret_text[static NODE_MESSAGE_MAX + 1],
			 struct err *err);
