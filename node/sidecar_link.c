/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the sidecar of a pod, and sends and receives messages. */
#include "node/sidecar_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/fd_message.h"
#include "lib/fileio.h"
#include "node/pod_of_process.h"

/*
 * The kernel counts for a message its struct sk_buff and a block of memory with the text and a
 * struct skb_shared_info, each in whole cache lines. The block has a power of two in bytes; from
 * Linux 6.3 on it may have somewhat more than 512 in place of them.
 */
#define SK_BUFF 256
#define SHARED_INFO 320
#define SMALL_BLOCK 704
#define CACHE_LINE 64

/*
 * Returns a descriptor of the socket's file. We connect through it, so a change of the path does no
 * harm.
 */
static int find_socket(const char *pods, const char *pod_uid, struct err *err)
{
	_cleanup_close_ int root = open(pods, O_PATH | O_DIRECTORY | O_CLOEXEC), directory = -1,
			    file = -1;
	char path[128];
	struct stat st;

	if (root < 0)
		return err_set(err, errno, "the kubelet's directory %s", pods);
	snprintf(path, sizeof(path), "%s/volumes/kubernetes.io~empty-dir/" NODE_VOLUME, pod_uid);
	directory = dir_open_below(root, path, strlen(path));
	if (directory < 0)
		return err_set(err, -directory, "%s/%s", pods, path);
	file = openat(directory, NODE_SOCKET_NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	/*
	 * The kubelet makes the volume before it starts any container, and the sidecar makes the
	 * socket.
	 */
	if (file < 0)
		return err_set(err, errno == ENOENT ? ECONNREFUSED : errno,
			       "%s/%s/" NODE_SOCKET_NAME, pods, path);
	if (fstat(file, &st) < 0 || !S_ISSOCK(st.st_mode))
		return err_set(err, EPERM, "%s/%s/" NODE_SOCKET_NAME " is not a socket", pods,
			       path);
	return TAKE_FD(file);
}

static int connect_to(int file, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, errno, "connect to the sidecar");
	return TAKE_FD(fd);
}

/*
 * Checks that the process that made the listening socket is in that pod. Only the pod's sidecar
 * mounts the directory.
 */
static int check_listener(int fd, const char *proc, const char *pod_uid, pid_t crashed,
			  struct err *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct pod_of_process pod;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return err_set(err, errno, "the sidecar's credentials");
	if (peer.pid <= 0)
		return err_set(err, EPERM,
			       "the node agent does not see the node's processes (hostPID)");
	/*
	 * The crashed process cannot be the sidecar, although its socket exists until its dump
	 * ends.
	 */
	if (peer.pid == crashed)
		return err_set(err, ECONNREFUSED, "the sidecar itself crashed");
	if (pod_of_process(proc, peer.pid, &pod, NULL) < 0 || strcmp(pod.pod_uid, pod_uid) != 0)
		return err_set(
			err, EPERM,
			"the process that listens on the socket of pod %s does not belong to that pod",
			pod_uid);
	return 0;
}

int sidecar_link_open(const char *pods, const char *proc, const char *pod_uid, pid_t crashed,
		      int *ret_fd, struct err *err)
{
	_cleanup_close_ int file = find_socket(pods, pod_uid, err);
	char hello[32];

	if (file < 0)
		return file;
	int fd = connect_to(file, err);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	snprintf(hello, sizeof(hello), "node %d", NODE_PROTOCOL_VERSION);
	int rc = check_listener(fd, proc, pod_uid, crashed, err);
	return rc < 0 ? rc : sidecar_link_send(fd, hello, -1, err);
}

int sidecar_link_send(int fd, const char *text, int pass_fd, struct err *err)
{
	size_t len = strlen(text);

	if (len > NODE_MESSAGE_MAX)
		return err_set(err, EMSGSIZE, "send to a sidecar");
	if (fd_message_send(fd, text, len, &pass_fd, pass_fd >= 0, MSG_DONTWAIT) < 0)
		return err_set(err, errno, "send to a sidecar");
	return 0;
}

size_t sidecar_link_cost(size_t len)
{
	size_t needs = (len + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE + SHARED_INFO, block = 512;

	while (block < needs)
		block *= 2;
	return SK_BUFF + MAX(block, (size_t)SMALL_BLOCK);
}

size_t sidecar_link_room(int fd)
{
	socklen_t size = sizeof(int);
	int room = 0, unread = 0;

	/* It is SIOCOUTQ: what the kernel counts for the messages that have not been read. */
	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &size) < 0 ||
	    ioctl(fd, TIOCOUTQ, &unread) < 0)
		return 0;
	return (size_t)MAX(room - unread, 0);
}

int sidecar_link_receive(int fd, int within_ms, char ret_text[static NODE_MESSAGE_MAX + 1],
			 struct err *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int n = poll(&ready, 1, within_ms);

	if (n == 0 || (n < 0 && errno == EINTR))
		return err_set(err, ETIMEDOUT, "the sidecar does not answer");
	/*
	 * There is no room for descriptors in this call, so the kernel closes any that were sent.
	 */
	ssize_t len = n < 0 ? -1 : recv(fd, ret_text, NODE_MESSAGE_MAX, MSG_DONTWAIT);
	if (len < 0 && errno == EAGAIN)
		return err_set(err, ETIMEDOUT, "the sidecar does not answer");
	if (len <= 0)
		return err_set(err, EPIPE, "the sidecar is gone");
	ret_text[len] = '\0';
	return 0;
}
