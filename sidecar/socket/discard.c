/* SPDX-License-Identifier: Apache-2.0 */
/* Closes descriptors that other processes made, without waiting. */
#include "sidecar/socket/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/log.h"

#define WAITING_MAX 512 /* descriptors that wait because no child is free */

static pid_t children[DISCARD_CHILDREN_MAX];
static int waiting[WAITING_MAX];
static size_t n_waiting;

/* Returns a free child, or NULL if all of them are blocked. */
static pid_t *free_child(void)
{
	pid_t *free = NULL;

	for (size_t i = 0; i < DISCARD_CHILDREN_MAX; i++) {
		if (children[i] && waitpid(children[i], NULL, WNOHANG) != 0)
			children[i] = 0;
		if (!children[i])
			free = &children[i];
	}
	return free;
}

/*
 * Forks a child that shares our table of descriptors. The child calls no function of libc that has
 * a state.
 */
static pid_t close_in_child(const int *fds, size_t n)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (pid != 0)
		return pid;
	for (size_t i = 0; i < n; i++)
		syscall(SYS_close, fds[i]);
	syscall(SYS_exit_group, 0);
	return 0;
}

/* Returns whether closing fd calls no driver or server that might block. */
static bool closes_at_once(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || flags & O_PATH;
}

static void keep_for_later(int fd)
{
	if (n_waiting < WAITING_MAX)
		waiting[n_waiting++] = fd;
	else
		log_warning_limited(
			"a descriptor from a container stays open: closing earlier ones takes too long");
}

static void close_waiting(void)
{
	pid_t *child = n_waiting ? free_child() : NULL;
	pid_t pid = child ? close_in_child(waiting, n_waiting) : -1;

	if (pid <= 0)
		return;
	*child = pid;
	n_waiting = 0;
}

void discard(const int *fds, size_t n)
{
	const struct linger none = { .l_onoff = 0 };

	for (size_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if (closes_at_once(fds[i])) {
			close(fds[i]);
			continue;
		}
		/* This fails for what is not a socket, which does no harm. */
		setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		keep_for_later(fds[i]);
	}
	close_waiting();
}

/*
 * Returns whether a message is waiting. One without a byte may carry descriptors, too; there is no
 * room for these.
 */
static bool has_message(int fd)
{
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t len = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);

	/* If the launcher left an order of ours unread, the kernel reports that first, once. */
	if (len < 0 && errno == ECONNRESET)
		len = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);
	return len > 0 || message.msg_flags & MSG_CTRUNC;
}

void discard_connection(int fd)
{
	if (fd < 0)
		return;
	/* From here on no more messages can arrive. */
	shutdown(fd, SHUT_RDWR);
	if (has_message(fd))
		discard(&fd, 1);
	else
		close(fd);
}
