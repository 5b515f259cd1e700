/* SPDX-License-Identifier: Apache-2.0 */
/* Does work that may hang in a fork of this process. */
#include "lib/loop/errand.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/fd_message.h"
#include "lib/macros.h"
#include "lib/outlet.h"
#include "lib/units.h"

/* Cancelled errands that have not ended; a container has a handful, and they end with us. */
#define ZOMBIES_MAX 64

static bool loop_runs;
static pid_t cancelled[ZOMBIES_MAX];
static bool in_child;
/* In a fork that does one step: the socket to the process that waits for the step */
static int tried_fd = -1;

void errand_loop_runs(bool runs)
{
	loop_runs = runs;
}

static void reap_later(pid_t pid)
{
	for (size_t i = 0; i < ZOMBIES_MAX; i++)
		if (!cancelled[i]) {
			cancelled[i] = pid;
			return;
		}
}

/* --- In the child --- */

/* fstat is not used: on a file of a dead filesystem, in the container, it would not return. */
static bool is_socket(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

/* A launcher waits for the end of its connection, which a child that hangs must not keep open. */
static void close_other_sockets(int own)
{
	_cleanup_dir_ DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;

	while ((d = dir_next(dir))) {
		int fd = (int)strtol(d->d_name, NULL, 10);

		if (fd > STDERR_FILENO && fd != own && is_socket(fd))
			close(fd);
	}
}

/*
 * The event loop's signal handlers write into a pipe that the child shares with the parent. In the
 * child a request to end would go to the parent.
 */
_Noreturn static void errand_work(int fd, errand_fn fn, void *arg, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	outlet_forget();
	close_other_sockets(fd);
	loop_runs = false;
	in_child = true;
	memset(cancelled, 0, sizeof(cancelled));
	fn(fd, arg);
	_exit(0);
}

size_t errand_receive(int fd, void *data, size_t size)
{
	ssize_t n;

	while ((n = recv(fd, data, size, 0)) < 0 && errno == EINTR)
		;
	return n < 0 ? 0 : (size_t)n;
}

static bool comes_through(int fd, int64_t within_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&p, 1, (int)(within_ns / NS_PER_MS)) > 0 && read(fd, &byte, 1) == 1;
}

bool errand_try(int64_t within_ns)
{
	pid_t parent = getpid(), pid;
	int ends[2], status;

	if (!in_child)
		return true;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(ends[0]);
		tried_fd = ends[1];
		return true;
	}
	close(ends[1]);
	/* Without a fork the work is done in this process, unprotected against hanging. */
	if (pid < 0) {
		close(ends[0]);
		return true;
	}
	if (comes_through(ends[0], within_ns)) {
		waitpid(pid, &status, 0);
		_exit(0);
	}
	close(ends[0]);
	kill(pid, SIGKILL);
	return false;
}

void errand_tried(void)
{
	if (tried_fd >= 0 && write(tried_fd, "", 1) < 0)
		_exit(1);
	closep(&tried_fd);
	tried_fd = -1;
}

/* --- In both processes --- */

bool errand_send(int fd, const void *data, size_t len, int pass_fd)
{
	return fd_message_send(fd, data, len, &pass_fd, pass_fd >= 0, 0) == (ssize_t)len;
}

/* --- In the parent --- */

static void errand_let_go(struct errand *e)
{
	closep(&e->fd);
	*e = ERRAND_NONE;
}

bool errand_busy(struct errand *e)
{
	for (size_t i = 0; i < ZOMBIES_MAX; i++)
		if (cancelled[i] && waitpid(cancelled[i], NULL, WNOHANG) != 0)
			cancelled[i] = 0;

	if (e->pid && waitpid(e->pid, NULL, WNOHANG) != 0)
		errand_let_go(e);
	return e->pid != 0;
}

void errand_cancel(struct errand *e)
{
	if (!e->pid)
		return;
	kill(e->pid, SIGKILL);
	if (waitpid(e->pid, NULL, WNOHANG) == 0)
		reap_later(e->pid);
	errand_let_go(e);
}

int errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (errand_busy(e))
		return err_set(err, EBUSY, "the process that did this before is still at it");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, errno, "socketpair");
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		errand_work(ends[1], fn, arg, parent);
	}
	close(ends[1]);
	if (pid < 0) {
		int code = errno;

		close(ends[0]);
		return err_set(err, code, "fork");
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*e = (struct errand){ .pid = pid, .fd = ends[0], .since_ns = now_boottime_ns() };
	return 0;
}

/* Returns -1 with errno EAGAIN if no message has arrived yet, and 0 if no more will come. */
static ssize_t next_message(int fd, void *data, int *ret_fd)
{
	return fd_message_receive(fd, data, ERRAND_MESSAGE_MAX, 0, ret_fd);
}

/* Returns false when the time is over. */
static bool wait_for_message(int fd, int64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		int64_t left = MAX(until_ns - now_boottime_ns(), (int64_t)0);
		struct timespec ts = { .tv_sec = left / NS_PER_SEC, .tv_nsec = left % NS_PER_SEC };

		n = ppoll(&p, 1, &ts, NULL);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

void errand_ignore(const void *, size_t, int *, void *)
{
}

static bool errand_wait(struct errand *e, int64_t within_ns, errand_message_fn on_message,
			void *arg)
{
	_cleanup_free_ char *data = e->pid ? malloc(ERRAND_MESSAGE_MAX) : NULL;
	int64_t until = now_boottime_ns() + within_ns;

	if (!data)
		return !e->pid;
	while (wait_for_message(e->fd, until)) {
		_cleanup_close_ int passed = -1;
		ssize_t n = next_message(e->fd, data, &passed);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0) {
			/*
			 * The process closes its files just before it ends, so it may still exist.
			 */
			if (waitpid(e->pid, NULL, WNOHANG) == 0)
				reap_later(e->pid);
			errand_let_go(e);
			return true;
		}
		on_message(data, (size_t)n, &passed, arg);
	}
	return false;
}

bool errand_listen(struct errand *e, errand_message_fn on_message, void *arg)
{
	return errand_wait(e, 0, on_message, arg);
}

bool errand_wait_outside_loop(struct errand *e, int64_t within_ns, errand_message_fn on_message,
			      void *arg)
{
	assert(!loop_runs);
	return errand_wait(e, within_ns, on_message, arg);
}

struct call {
	errand_fill_fn fn;
	const void *arg;
	void *out;
	size_t size;
	bool filled;
};

static void errand_fill(int fd, void *arg)
{
	struct call *c = arg;

	c->fn(c->arg, c->out);
	errand_send(fd, c->out, c->size, -1);
}

static void errand_on_filled(const void *data, size_t len, int *, void *arg)
{
	struct call *c = arg;

	if (len != c->size)
		return;
	memcpy(c->out, data, len);
	c->filled = true;
}

int errand_ask(struct errand *e, errand_fill_fn fn, const void *arg, void *out, size_t size,
	       struct err *err)
{
	struct call c = { .fn = fn, .arg = arg, .out = out, .size = size };

	return errand_start(e, errand_fill, &c, err);
}

bool errand_take(struct errand *e, void *out, size_t size)
{
	struct call c = { .out = out, .size = size };

	errand_listen(e, errand_on_filled, &c);
	return c.filled;
}
