/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts connections to a socket of the sidecar at a bounded rate. */
#include "sidecar/socket/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/budget.h"
#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"

#define QUEUE_MAX 32 /* connections that wait in the kernel */
#define PAUSE_NS NS_PER_SEC /* how long we pause if no descriptor is free */

struct listener {
	int fd;
	const char *from; /* who connects */
	struct sockaddr_un address;
	struct stat bound; /* the socket at that path; all zero: none */
	struct event *acceptable, *again; /* again: the end of the pause */
	struct budget budget;
	void (*fn)(int fd, void *arg);
	void *arg;
};

/*
 * The connection stays in the kernel's queue. Without a pause the loop would return to it at once.
 */
static void pause_for(struct listener *l, int64_t ns)
{
	const struct timeval pause = { .tv_sec = ns / NS_PER_SEC,
				       .tv_usec = ns % NS_PER_SEC / 1000 + 1 };

	if (event_add(l->again, &pause) == 0)
		event_del(l->acceptable);
}

static void on_again(evutil_socket_t, short, void *arg)
{
	struct listener *l = arg;

	event_add(l->acceptable, NULL);
}

static void listener_on_connection(evutil_socket_t fd, short, void *arg)
{
	struct listener *l = arg;
	int64_t wait_ns = budget_wait(&l->budget, now_boottime_ns());

	if (wait_ns > 0) {
		log_warning_limited("%s open more than %d connections a second: the others wait",
				    l->from, LISTENER_PER_S);
		pause_for(l, wait_ns);
		return;
	}
	int connection = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (connection >= 0)
		l->fn(connection, l->arg);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		log_warning_limited("%s: a connection cannot be accepted: %s", l->from,
				    strerror(errno));
		pause_for(l, PAUSE_NS);
	}
}

static int bind_for_all(struct listener *l, struct err *err)
{
	const char *path = l->address.sun_path;

	/*
	 * Removes the socket of a previous sidecar. If it is a directory, bind fails with a clear
	 * error.
	 */
	unlink(path);
	/*
	 * chmod(2) afterwards would be unsafe: by then a link to a foreign file may be in its
	 * place.
	 */
	mode_t mask = umask(0111);
	int rc = bind(l->fd, (struct sockaddr *)&l->address, sizeof(l->address));
	umask(mask);
	if (rc < 0)
		return err_set(
			err, errno,
			"--socket %s: cannot be made there (its directory has to exist and to be writable)",
			path);
	if (lstat(path, &l->bound) < 0)
		l->bound = (struct stat){ 0 };
	if (listen(l->fd, QUEUE_MAX) < 0)
		return err_set(err, errno, "listen on %s", path);
	return 0;
}

int listener_adopt(struct event_base *base, int socket_fd, const char *from,
		   void (*fn)(int fd, void *arg), void *arg, struct listener **ret_listener,
		   struct err *err)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l) {
		close(socket_fd);
		return err_set(err, ENOMEM, "socket");
	}
	*l = (struct listener){ .fd = socket_fd,
				.from = from,
				.address.sun_family = AF_UNIX,
				.fn = fn,
				.arg = arg,
				.budget = { .spacing_ns = NS_PER_SEC / LISTENER_PER_S,
					    .burst = LISTENER_BURST } };
	l->acceptable = event_new(base, l->fd, EV_READ | EV_PERSIST, listener_on_connection, l);
	l->again = evtimer_new(base, on_again, l);
	if (!l->acceptable || !l->again) {
		listener_free(l);
		return err_set(err, ENOMEM, "socket");
	}
	*ret_listener = l;
	return 0;
}

int listener_new(struct event_base *base, const char *path, void (*fn)(int fd, void *arg),
		 void *arg, struct listener **ret_listener, struct err *err)
{
	struct listener *l;

	if (strlen(path) >= sizeof(l->address.sun_path))
		return err_set(err, ENAMETOOLONG, "--socket %s: at most %zu bytes", path,
			       sizeof(l->address.sun_path) - 1);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, errno, "socket");
	if (listener_adopt(base, fd, "launchers", fn, arg, &l, err) < 0)
		return -err->code;
	memcpy(l->address.sun_path, path, strlen(path));
	if (bind_for_all(l, err) < 0) {
		listener_free(l);
		return -err->code;
	}
	*ret_listener = l;
	return 0;
}

int listener_start(struct listener *l, struct err *err)
{
	return event_add(l->acceptable, NULL) < 0 ? err_set(err, ENOMEM, "socket") : 0;
}

void listener_stop(struct listener *l)
{
	event_del(l->acceptable);
	event_del(l->again);
}

/* A sidecar that ends late may find the socket of its successor at the path, and leaves that. */
static void remove_socket(const struct listener *l)
{
	struct stat there;

	if (l->bound.st_ino && lstat(l->address.sun_path, &there) == 0 &&
	    there.st_dev == l->bound.st_dev && there.st_ino == l->bound.st_ino)
		unlink(l->address.sun_path);
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	event_drop(l->acceptable);
	event_drop(l->again);
	if (l->fd >= 0) {
		/* The inode is in use until the socket is closed, so no other socket has it. */
		remove_socket(l);
		close(l->fd);
	}
	free(l);
}
