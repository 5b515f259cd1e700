/* SPDX-License-Identifier: Apache-2.0 */
/* Prints on the container's stderr what the sidecar asks for. */
#include "sidecar/launch/speaker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/macros.h"
#include "sidecar/launch/protocol.h"

#define FINISH_MS 100 /* when stderr is full, the text is lost, but the container does not wait */
/* Where the kernel has no close_range(2) (before Linux 5.9), so many are closed one by one. */
#define OTHER_FDS_MAX 1024

/*
 * Closes all other descriptors. The launcher's connection to the sidecar must end with the
 * launcher, even if this child hangs.
 */
static int keep_only(int socket_fd)
{
	int fd = STDERR_FILENO + 1;

	if (socket_fd != fd && dup2(socket_fd, fd) < 0)
		_exit(0);
	if (syscall(SYS_close_range, fd + 1, ~0U, 0) < 0)
		for (int other = fd + 1; other < OTHER_FDS_MAX; other++)
			close(other);
	return fd;
}

static void write_all(const char *text, ssize_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, text, (size_t)len);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDERR_FILENO, .events = POLLOUT }, 1, -1);
		else if (n <= 0)
			return;
		text += n > 0 ? n : 0;
		len -= n > 0 ? n : 0;
	}
}

_Noreturn static void run(int socket_fd, pid_t launcher)
{
	char text[LAUNCH_MESSAGE_MAX];
	ssize_t len;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(0);
	socket_fd = keep_only(socket_fd);
	while ((len = recv(socket_fd, text, sizeof(text), 0)) > 0)
		write_all(text, len);
	_exit(0);
}

static void speaker_start(struct speaker *s)
{
	pid_t launcher = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	s->pid = fork();
	if (s->pid == 0)
		run(ends[1], launcher);
	close(ends[1]);
	if (s->pid > 0)
		s->fd = ends[0];
	else
		close(ends[0]);
}

static void speaker_stop(struct speaker *s)
{
	closep(&s->fd);
	*s = SPEAKER_NONE;
}

void speaker_say(struct speaker *s, const char *text, size_t len)
{
	if (s->fd < 0)
		speaker_start(s);
	/* An empty message would look like the end of the connection. */
	if (s->fd >= 0 && len > 0)
		send(s->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void speaker_reaped(struct speaker *s, pid_t pid)
{
	if (s->fd >= 0 && pid == s->pid)
		speaker_stop(s);
}

void speaker_finish(struct speaker *s)
{
	struct pollfd ended = { .fd = s->fd, .events = POLLIN };

	if (s->fd < 0)
		return;
	/* The child has read everything when it closes its end. */
	shutdown(s->fd, SHUT_WR);
	poll(&ended, 1, FINISH_MS);
	speaker_stop(s);
}
