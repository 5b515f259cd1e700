/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over a unix socket that carry descriptors (SCM_RIGHTS). A header alone, because launcher
 * and node agent use it, too.
 */
#pragma once

#include <string.h>
#include <sys/socket.h>

#define FD_MESSAGE_FDS_MAX 4

/*
 * Sends a message with n descriptors, at most FD_MESSAGE_FDS_MAX. flags are those of sendmsg(2);
 * MSG_NOSIGNAL is always set. Returns what sendmsg(2) does.
 */
static inline ssize_t fd_message_send(int socket_fd, const void *data, size_t len, const int *fds,
				      size_t n, int flags)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(FD_MESSAGE_FDS_MAX * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)data, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	return sendmsg(socket_fd, &m, MSG_NOSIGNAL | flags);
}

/*
 * Receives a message with one descriptor at most; *ret_fd is -1 if it has none. flags are those of
 * recvmsg(2); MSG_CMSG_CLOEXEC is always set. Returns what recvmsg(2) does.
 */
static inline ssize_t fd_message_receive(int socket_fd, void *data, size_t size, int flags,
					 int *ret_fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, size };
	/*
	 * There is room for one descriptor; the kernel closes further ones. CMSG_SPACE would leave
	 * room for two, because it rounds up.
	 */
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t len = recvmsg(socket_fd, &m, MSG_CMSG_CLOEXEC | flags);
	const struct cmsghdr *rights = len >= 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*ret_fd = -1;
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
	    rights->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(rights), sizeof(*ret_fd));
	return len;
}
