/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the sidecar's socket, and sends and receives messages. */
#include "sidecar/launch/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/fd_message.h"

#define LAST_ROOM 212992 /* bytes, which the kernel doubles: twice what a socket usually has */

/*
 * Returns whether the directory of that file is read-only for us. The operator always gives a path
 * with a directory, so a name without one is not the operator's.
 */
static bool is_in_read_only_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct statvfs fs;

	if (!slash || slash == path)
		return false;
	memcpy(directory, path, (size_t)(slash - path));
	directory[slash - path] = '\0';
	return statvfs(directory, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static bool is_sidecar(int socket_fd, const char *socket_path)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (is_in_read_only_directory(socket_path))
		return true;
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	return peer.pid == 0 || (getpid() != 1 && (peer.uid == 0 || peer.uid == geteuid()));
}

/* A unix socket connects at once or not at all. -EAGAIN: its queue is full. */
int connection_open(const char *socket_path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, code;

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, socket_path, strlen(socket_path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		code = is_sidecar(fd, socket_path) ? 0 : -EACCES;
	else
		code = errno == EAGAIN ? -EAGAIN : -ENOENT;
	if (code == 0)
		return fd;
	close(fd);
	return code;
}

int connection_adopt(int socket_fd)
{
	return fcntl(socket_fd, F_SETFD, FD_CLOEXEC) < 0 ||
			       fcntl(socket_fd, F_SETFL, O_NONBLOCK) < 0 ?
		       -errno :
		       socket_fd;
}

static bool send_with(int socket_fd, const char *text, size_t len, const int *fds, size_t n_fds,
		      int flags)
{
	_Static_assert(LAUNCH_FDS_MAX <= FD_MESSAGE_FDS_MAX, "a message carries as many");
	return fd_message_send(socket_fd, text, len, fds, n_fds, flags) == (ssize_t)len;
}

bool connection_send(int socket_fd, const char *text, size_t len, const int *fds, size_t n_fds)
{
	return send_with(socket_fd, text, len, fds, n_fds, MSG_DONTWAIT);
}

bool connection_sendf(int socket_fd, const int *fds, size_t n_fds, const char *format, ...)
{
	char text[LAUNCH_MESSAGE_MAX];
	va_list ap;

	va_start(ap, format);
	int len = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return len >= 0 && (size_t)len < sizeof(text) &&
	       connection_send(socket_fd, text, (size_t)len, fds, n_fds);
}

bool connection_send_last(int socket_fd, const char *text, size_t len)
{
	const int more = LAST_ROOM;

	if (connection_send(socket_fd, text, len, NULL, 0))
		return true;
	if (errno != EAGAIN ||
	    setsockopt(socket_fd, SOL_SOCKET, SO_SNDBUF, &more, sizeof(more)) < 0)
		return false;
	return connection_send(socket_fd, text, len, NULL, 0);
}

bool connection_send_waiting(int socket_fd, const char *text, size_t len, const int *fds,
			     size_t n_fds)
{
	return send_with(socket_fd, text, len, fds, n_fds, 0);
}

bool connection_send_hello(int socket_fd, const struct options *options, pid_t command,
			   int64_t started_ns)
{
	char text[256], letters[LAUNCH_FDS_MAX + 1] = "";
	const struct {
		char letter;
		int fd;
	} offers[] = {
		{ LAUNCH_FD_ROOT, open("/", O_PATH | O_CLOEXEC) },
		{ LAUNCH_FD_TERMINATION_LOG, open(options->termination_log, O_RDWR | O_CLOEXEC) },
		{ LAUNCH_FD_PIDFD, (int)syscall(SYS_pidfd_open, getpid(), 0) },
	};
	int fds[LAUNCH_FDS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < LAUNCH_FDS_MAX; i++)
		if (offers[i].fd >= 0) {
			letters[n] = offers[i].letter;
			fds[n++] = offers[i].fd;
		}
	int len = snprintf(text, sizeof(text), "hello %d %s %s %d %d %lld", LAUNCH_PROTOCOL_VERSION,
			   n ? letters : "-", options->name, (int)getpid(), (int)command,
			   (long long)started_ns);
	bool sent = connection_send(socket_fd, text, (size_t)len, fds, n);
	while (n > 0)
		close(fds[--n]);
	return sent;
}

ssize_t connection_receive(int socket_fd, char text[static LAUNCH_MESSAGE_MAX + 1], int *ret_fd)
{
	ssize_t len = fd_message_receive(socket_fd, text, LAUNCH_MESSAGE_MAX, MSG_DONTWAIT, ret_fd);

	/*
	 * A sidecar that ends with a message of ours unread resets the connection. The kernel
	 * reports that once, before the orders that it has sent; a hold may be among them.
	 */
	if (len < 0 && errno == ECONNRESET)
		len = fd_message_receive(socket_fd, text, LAUNCH_MESSAGE_MAX, MSG_DONTWAIT, ret_fd);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? -1 : 0;
	text[len] = '\0';
	return len;
}
