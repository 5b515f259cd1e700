/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to the sidecar's socket, and sends and receives messages with or without descriptors. No
 * function blocks unless its comment says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/macros.h"
#include "sidecar/launch/options.h"
#include "sidecar/launch/protocol.h"

/*
 * Tries once to connect. Returns the socket; -EACCES if the listener is not the sidecar; -EAGAIN
 * if it cannot take one more connection now; another negative number if nothing listens. The
 * sidecar gets descriptors of this container and may end its processes. So a listener must prove
 * that it is the sidecar, by one of
 *   - the directory is read-only for us, as the operator mounts it, so no process of this container
 *     can have put a socket there;
 *   - the peer is no process of this container: its PID does not exist in our PID namespace;
 *   - we share the namespace with others (we are not its PID 1), and it is root or our own user,
 *     who may kill us anyway.
 */
int connection_open(const char *socket_path);

/*
 * Uses a socket that was connected before the launcher started; the command does not inherit it.
 * Returns it, or -errno.
 */
int connection_adopt(int socket_fd);

/*
 * Sends a message with at most LAUNCH_FDS_MAX descriptors, which stay the caller's. Returns whether
 * it was sent. connection_sendf makes the text, and sends none that is too long.
 */
bool connection_send(int socket_fd, const char *text, size_t len, const int *fds, size_t n_fds);
bool connection_sendf(int socket_fd, const int *fds, size_t n_fds, const char *format, ...)
	_printf_(4, 5);

/*
 * Sends a message without descriptors that has to arrive: if the sidecar left so much unread that
 * there is no room, it makes room. Returns whether it was sent; if not, errno says why.
 */
bool connection_send_last(int socket_fd, const char *text, size_t len);

/* Does the same as connection_send, but waits until there is room for the message. */
bool connection_send_waiting(int socket_fd, const char *text, size_t len, const int *fds,
			     size_t n_fds);

/*
 * Sends the first message: the container's name and PIDs, and the descriptors by which the sidecar
 * sees into it.
 */
bool connection_send_hello(int socket_fd, const struct options *options, pid_t command,
			   int64_t started_ns);

/*
 * Receives a message, NUL-terminated, and its descriptor (owned by the caller; -1: none).
 * Returns its length; 0: the sidecar is gone; -1: there is no message.
 */
ssize_t connection_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX + 1], int *ret_fd);
