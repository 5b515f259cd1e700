/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: listens for launchers, keeps a container object for each. */
#include "sidecar/record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/strbuf.h"
#include "sidecar/record/container.h"

#define CONTAINERS_MAX 32 /* connections at a time; more are refused */
#define LAST_REPORT_MAX 3800 /* what is said again at the next start: one message */

/* The last report of a container of that name, to be said when its next instance starts. */
struct last_report {
	char name[64];
	char *text;
};

struct recorder {
	struct event_base *base;
	const struct recorder_options *options;
	int listen_fd;
	struct event *acceptable;
	struct container *containers[CONTAINERS_MAX];
	struct last_report last_reports[CONTAINERS_MAX];
	char last_bundle[512];
	bool pod_terminating;
	void (*idle)(void *arg);
	void *idle_arg;
};

static void remove_container(struct recorder *r, struct container *c)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] == c)
			r->containers[i] = NULL;
	container_free(c);
}

static struct last_report *last_report_of(struct recorder *r, const char *name)
{
	struct last_report *unused = NULL;

	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		if (r->last_reports[i].text && strcmp(r->last_reports[i].name, name) == 0)
			return &r->last_reports[i];
		if (!r->last_reports[i].text && !unused)
			unused = &r->last_reports[i];
	}
	return unused;
}

static void on_attached(struct container *c, void *arg)
{
	struct recorder *r = arg;
	struct last_report *last = last_report_of(r, container_name(c));

	/* A launcher that lost its connection comes back on a new one. */
	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		struct container *old = r->containers[i];

		if (old && old != c && strcmp(container_name(old), container_name(c)) == 0 &&
		    container_started_ns(old) == container_started_ns(c))
			remove_container(r, old);
	}
	if (r->pod_terminating)
		container_pod_terminating(c);
	if (last && last->text) {
		container_say(c, "[afterglow] how the previous instance of this container ended:\n");
		container_say(c, last->text);
	}
}

static void on_reported(struct container *c, const char *text, const char *path, void *arg)
{
	struct recorder *r = arg;
	struct last_report *last = last_report_of(r, container_name(c));

	fd_write_all(r->options->report_fd, text, strlen(text), NULL);
	if (r->options->say_reports)
		container_say(c, text);
	snprintf(r->last_bundle, sizeof(r->last_bundle), "%s", path);
	if (!last)
		return;
	free(last->text);
	last->text = strndup(text, LAST_REPORT_MAX);
	snprintf(last->name, sizeof(last->name), "%s", container_name(c));
}

static void on_done(struct container *c, void *arg)
{
	struct recorder *r = arg;

	remove_container(r, c);
	if (r->idle)
		r->idle(r->idle_arg);
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct recorder *r = arg;
	const struct container_callbacks callbacks = {
		.attached = on_attached,
		.reported = on_reported,
		.done = on_done,
		.arg = r,
	};
	struct err err = { 0 };
	size_t slot = 0;
	int connection = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (connection < 0)
		return;
	while (slot < CONTAINERS_MAX && r->containers[slot])
		slot++;
	if (slot == CONTAINERS_MAX) {
		log_warning_limited("more than %d launchers at a time: one is refused", CONTAINERS_MAX);
		close(connection);
		return;
	}
	r->containers[slot] = container_new(r->base, connection, r->options, &callbacks, &err);
	if (!r->containers[slot])
		log_error("a launcher's connection: %s", err_text(&err));
}

static int listen_on(struct recorder *r, const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, ENAMETOOLONG, "socket %s: at most %zu bytes", path, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	r->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->listen_fd < 0)
		return err_set(err, errno, "socket");
	/* Of an instance before us; a directory of that name makes bind fail, which says so. */
	unlink(path);
	if (bind(r->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, errno, "bind %s", path);
	/* The launchers run under any uid. Who may connect is decided by who sees the directory. */
	if (chmod(path, 0666) < 0 || listen(r->listen_fd, CONTAINERS_MAX) < 0)
		return err_set(err, errno, "listen on %s", path);
	return 0;
}

int recorder_new(struct event_base *base, const struct recorder_options *options, struct recorder **ret_recorder,
		 struct err *err)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, ENOMEM, "recorder");
	r->base = base;
	r->options = options;
	r->listen_fd = -1;
	rc = listen_on(r, options->socket_path, err);
	if (rc >= 0) {
		r->acceptable = event_new(base, r->listen_fd, EV_READ | EV_PERSIST, on_connection, r);
		if (!r->acceptable || event_add(r->acceptable, NULL) < 0)
			rc = err_set(err, ENOMEM, "recorder events");
	}
	if (rc < 0) {
		recorder_free(r);
		return rc;
	}
	*ret_recorder = r;
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		container_free(r->containers[i]);
		free(r->last_reports[i].text);
	}
	if (r->acceptable)
		event_free(r->acceptable);
	if (r->listen_fd >= 0) {
		unlink(r->options->socket_path);
		close(r->listen_fd);
	}
	free(r);
}

void recorder_on_idle(struct recorder *r, void (*fn)(void *arg), void *arg)
{
	r->idle = fn;
	r->idle_arg = arg;
}

unsigned int recorder_active(const struct recorder *r)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		n += r->containers[i] != NULL;
	return n;
}

void recorder_pod_terminating(struct recorder *r)
{
	r->pod_terminating = true;
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i])
			container_pod_terminating(r->containers[i]);
}

const char *recorder_last_bundle(const struct recorder *r)
{
	return r->last_bundle;
}
