/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's end of the recorder's socket: one message, with descriptors or without. Nothing here blocks unless it says so. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_CONNECTION_H
#define AFTERGLOW_SIDECAR_LAUNCH_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/launch/options.h"
#include "sidecar/launch/protocol.h"

/* One attempt. The socket, or -1. */
int connection_open(const char *socket_path);

/* At most LAUNCH_FDS_MAX descriptors, which stay the caller's. Whether the message was sent. */
bool connection_send(int socket_fd, const char *text, size_t len, const int *fds, size_t n_fds);

/* The same, but waits until there is room for it. */
bool connection_send_waiting(int socket_fd, const char *text, size_t len, const int *fds, size_t n_fds);

/* The first message: who we are, and the descriptors that let the recorder look in. */
bool connection_send_hello(int socket_fd, const struct options *options, pid_t command, int64_t started_ns);

/*
 * One message, NUL-terminated, and its descriptor (the caller's; -1: none).
 * Returns its length; 0: the recorder is gone; -1: nothing came.
 */
ssize_t connection_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX + 1], int *ret_fd);

/*
 * Who may have commands run as our user: a recorder outside this container (its
 * PID does not exist in our namespace), root, ourselves. Not another user of the
 * container who put a socket of his own where ours is expected.
 */
bool connection_peer_may_run(int socket_fd);

#endif
