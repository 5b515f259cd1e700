/* SPDX-License-Identifier: Apache-2.0 */
/* Follows one container, to which a launcher has connected, through its life. */
#include "sidecar/record/container.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/life.h"
#include "sidecar/keeping/events.h"
#include "sidecar/record/container_internal.h"
#include "sidecar/socket/discard.h"
#include "sidecar/verdict/stop_request.h"

#define HELLO_WITHIN_S 10 /* a connection that sends no hello within this time is closed */
/*
 * We wait so long for a launcher that lives and has disconnected; then its history waits in the
 * spool.
 */
#define BACK_WITHIN_S 60

bool container_is_silent(const struct container *c)
{
	return c->state < CONTAINER_ENDED && c->state != CONTAINER_RUNNING;
}

bool container_is_connected(const struct container *c)
{
	struct pollfd p[] = { { .fd = c->fd }, { .fd = c->pidfd, .events = POLLIN } };

	return c->hello.started_ns && poll(p, ARRAY_SIZE(p), 0) == 0;
}

bool container_is_over(const struct container *c)
{
	return c->state >= CONTAINER_ENDED;
}

bool container_is_judging(const struct container *c)
{
	return c->state == CONTAINER_JUDGING;
}

bool container_succeeded(const struct container *c)
{
	return c->succeeded;
}

const char *container_name(const struct container *c)
{
	return c->hello.name;
}

int64_t container_started_ns(const struct container *c)
{
	return c->hello.started_ns;
}

bool container_resumed(const struct container *c)
{
	return c->resumed;
}

const struct observer *container_observer(const struct container *c)
{
	return c->hello.started_ns ? &c->observer : NULL;
}

void container_say(struct container *c, const char *text)
{
	/* Sends as many whole lines as one message holds. */
	while (*text) {
		char part[LAUNCH_MESSAGE_MAX - 8];
		size_t len = strlen(text);

		if (len >= sizeof(part)) {
			const char *newline = memrchr(text, '\n', sizeof(part) - 1);

			len = newline ? (size_t)(newline - text) + 1 : sizeof(part) - 1;
		}
		snprintf(part, sizeof(part), "%.*s", (int)len, text);
		if (launch_send(c->fd, "say", part, NULL) < 0)
			return;
		text += len;
	}
}

int container_dump(const struct container *c, int id, pid_t pid, int dump_fd)
{
	char order[48];

	snprintf(order, sizeof(order), "%d %d", id, (int)pid);
	return c->state == CONTAINER_RUNNING ?
		       launch_send_fd(c->fd, "dump-into", order, dump_fd, NULL) :
		       -ENOTCONN;
}

void container_emit(const struct container *c, const char *event, cJSON *fields)
{
	event_emit(c->options, event, c->hello.name, fields);
}

void container_read_counters(struct container *c, struct memory *ret_memory, bool *ret_known)
{
	if (c->observer.memcg.version &&
	    observer_read_memory(&c->observer, now_boottime_ns(), true, ret_memory) == 0)
		*ret_known = true;
}

static void on_timer(evutil_socket_t, short, void *arg)
{
	struct container *c = arg;

	if (c->state == CONTAINER_RUNNING)
		container_sample(c);
	else
		container_event(c, CONTAINER_TIMEOUT);
}

/* --- The connection --- */

static void on_launcher_gone(evutil_socket_t, short, void *arg)
{
	const struct container *c = arg;

	/* Otherwise container_go_on looks again. */
	if (!c->publications)
		container_event(arg, CONTAINER_LAUNCHER_GONE);
}

/*
 * Reads the counters now: end of file comes about a millisecond after the launcher's death, and the
 * cgroup is gone some milliseconds later. The pidfd shows whether the launcher is dead; if it only
 * closed its socket, it will connect again.
 */
static void await_launcher(struct container *c)
{
	c->eof_ns = now_boottime_ns();
	container_read_counters(c, &c->at_eof, &c->at_eof_known);
	/*
	 * No sample is taken any more: one of the dissolving cgroup would look like the last one
	 * before the death.
	 */
	event_del(c->timer);
	if (c->modified)
		event_del(c->modified);
	if (c->pidfd >= 0)
		c->launcher_gone = event_new(c->base, c->pidfd, EV_READ, on_launcher_gone, c);
	if (!c->launcher_gone || event_add(c->launcher_gone, NULL) < 0)
		container_event(c, CONTAINER_LAUNCHER_GONE);
	else
		event_add(c->timer, &(struct timeval){ .tv_sec = BACK_WITHIN_S });
}

/*
 * Describes how the container ended: by the launcher's exit message, or by the launcher's own end.
 */
static struct ending how_it_ended(struct container *c)
{
	const struct launch_message *m = c->received ? &c->received->message : NULL;
	struct ending e = { .after = c->at_eof, .after_known = c->at_eof_known };
	bool exited = m && m->verb == LAUNCH_EXIT;

	if (!exited && !c->options->left_behind) {
		e.ended_ns = c->eof_ns;
		if (stop_request_explains(&c->asked, e.ended_ns)) {
			e.limits = c->ending.limits;
			e.limits_are_late = c->ending.limits_are_late;
		} else {
			container_drop_limits(c);
		}
		return e;
	}
	container_drop_limits(c);
	/* What was left behind has no exit code, and its last process was reported if it failed. */
	e.status_known = true;
	e.wait_status = exited ? m->wait_status : 0;
	e.ended_ns = exited ? m->ended_ns : INT64_MAX;
	if (c->unstarted.error)
		e.unstarted = &c->unstarted;
	/*
	 * A time outside the container's life is forged or wrong. Our own time is right to a
	 * millisecond.
	 */
	if (e.ended_ns < c->hello.started_ns || e.ended_ns > now_boottime_ns())
		e.ended_ns = now_boottime_ns();
	container_read_counters(c, &e.after, &e.after_known);
	/*
	 * The filesystems explain only failures, and reading them takes a request for each mount.
	 */
	if (e.wait_status != 0)
		container_read_limits(c, &c->ending.limits);
	c->exit_reported = true;
	return e;
}

static void attach(struct container *c)
{
	if (!container_attach(c, c->received)) {
		container_event(c, CONTAINER_UNSEEABLE);
		return;
	}
	container_watch_memory_events(c);
	container_sample(c);
}

static void end(struct container *c)
{
	event_del(c->timer);
	c->ending = how_it_ended(c);
	container_end(c);
}

static void on_turn(evutil_socket_t, short, void *arg)
{
	struct container *c = arg;

	/*
	 * The container is not watched any more, but it is not freed: children still write reports
	 * and the cores that were reported, and freeing it would end them.
	 */
	if (c->state == CONTAINER_LOST)
		container_workers_due(c, INT64_MAX);
	if (c->state == CONTAINER_LOST && (container_publishes(c) || crashes_keeping(c->crashes))) {
		event_add(c->turn, &(struct timeval){ .tv_sec = 1 });
		return;
	}
	c->callbacks.done(c, c->callbacks.arg);
}

void container_event(struct container *c, enum container_event event)
{
	const struct container_step step = container_step(c->state, event);

	c->state = step.next;
	if (step.actions & CONTAINER_STOP_READING) {
		event_del(c->readable);
		hooks_abandon(c->hooks);
	}
	if (step.actions & CONTAINER_ATTACH)
		attach(c);
	if (step.actions & CONTAINER_AWAIT_LAUNCHER)
		await_launcher(c);
	if (step.actions & CONTAINER_END)
		end(c);
	if (step.actions & CONTAINER_JUDGE)
		container_judge(c);
	if (step.actions & CONTAINER_REPORT)
		container_report(c);
	if (step.actions & CONTAINER_KEEP)
		container_keep(c);
	if (step.actions & CONTAINER_CONCLUDE)
		container_conclude(c);
	if (step.actions & CONTAINER_DISMISS)
		launch_send(c->fd, "done", NULL, NULL);
	if (step.actions & CONTAINER_LEAVE)
		event_active(c->turn, EV_TIMEOUT, 0);
}

/* Takes the hello and its descriptors, until container_greet_again. */
static void hello_put_off(struct container *c, struct received *r)
{
	c->is_put_off = true;
	c->put_off = *r;
	r->n_fds = 0;
	event_del(c->readable);
	event_del(c->timer);
}

static void take_hello(struct container *c, struct received *r)
{
	enum container_admission admission =
		c->callbacks.admits ? c->callbacks.admits(c, &r->message, c->callbacks.arg) :
				      CONTAINER_ADMITTED;

	if (admission == CONTAINER_PUT_OFF)
		hello_put_off(c, r);
	else
		container_event(c, admission == CONTAINER_REFUSED ? CONTAINER_TIMEOUT :
								    CONTAINER_HELLO);
}

static void take_message(struct container *c, struct received *r)
{
	const struct launch_message *m = &r->message;

	if (m->verb == LAUNCH_HELLO && c->state == CONTAINER_CONNECTED) {
		take_hello(c, r);
		return;
	}
	if (m->verb == LAUNCH_HELLO || m->verb == LAUNCH_EXIT) {
		container_event(c, m->verb == LAUNCH_HELLO ? CONTAINER_HELLO : CONTAINER_EXIT);
		return;
	}
	if (c->state == CONTAINER_CONNECTED) {
		if (m->verb == LAUNCH_CGROUP)
			container_take_cgroup(c, r);
		return;
	}
	if (m->verb == LAUNCH_CORE && r->n_fds > 0 && container_core(c, m, r->fds[0]))
		r->fds[0] = -1;
	else if (m->verb == LAUNCH_ENDED || m->verb == LAUNCH_UNWATCHED)
		container_ray_message(c, m);
	else if (m->verb == LAUNCH_ASKED)
		container_asked(c, m);
	else if (m->verb == LAUNCH_DUMPED && c->callbacks.dumped)
		c->callbacks.dumped(c, m, r->fds, r->n_fds, c->callbacks.arg);
	else if (m->verb == LAUNCH_UNSTARTED)
		c->unstarted = m->unstarted;
	else
		hooks_message(c->hooks, m);
}

static void receive_message(struct container *c, struct received *r)
{
	c->received = r;
	take_message(c, r);
	c->received = NULL;
	discard(r->fds, r->n_fds);
}

void container_greet_again(struct container *c)
{
	struct received r = c->put_off;

	if (!c->is_put_off)
		return;
	c->is_put_off = false;
	c->put_off.n_fds = 0;
	event_add(c->readable, NULL);
	receive_message(c, &r);
}

static void on_readable(evutil_socket_t fd, short, void *arg)
{
	struct container *c = arg;
	char text[LAUNCH_MESSAGE_MAX];
	struct received received = { .n_fds = 0 };
	struct err err = { 0 };
	size_t len;
	int r = launch_receive((int)fd, text, &len, received.fds, &received.n_fds, &err);

	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		container_event(c, CONTAINER_HANGUP);
		return;
	}
	if (launch_message_parse(text, len, &received.message, &err) < 0) {
		log_warning_limited("%s", err_text(&err));
		received.message.verb = LAUNCH_OTHER;
	}
	receive_message(c, &received);
}

struct container *container_new(struct event_base *base, int fd,
				const struct record_options *options, struct keeper *keeper,
				const struct container_callbacks *callbacks, struct err *err)
{
	const struct timeval hello_within = { .tv_sec = HELLO_WITHIN_S };
	struct container *c = calloc(1, sizeof(*c));

	if (!c) {
		discard_connection(fd);
		err_set(err, ENOMEM, "container");
		return NULL;
	}
	c->base = base;
	c->options = options;
	c->keeper = keeper;
	c->callbacks = *callbacks;
	c->fd = fd;
	c->observer.root_fd = -1;
	c->spill = SPILL_WATCH_NONE;
	c->spilling = ERRAND_NONE;
	c->message = BACKGROUND_FOR(c->message_written);
	c->limits = BACKGROUND_FOR(c->limits_read);
	c->termination_fd = c->pidfd = c->inotify_fd = c->cgroup.fd = -1;
	c->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, c);
	c->timer = event_new(base, -1, 0, on_timer, c);
	c->turn = event_new(base, -1, 0, on_turn, c);
	if (!c->readable || !c->timer || !c->turn || event_add(c->readable, NULL) < 0 ||
	    event_add(c->timer, options->own_launcher ? NULL : &hello_within) < 0) {
		container_free(c);
		err_set(err, ENOMEM, "container events");
		return NULL;
	}
	return c;
}

void container_free(struct container *c)
{
	if (!c)
		return;
	container_settle_message(c);
	event_drop(c->readable);
	event_drop(c->timer);
	event_drop(c->modified);
	event_drop(c->launcher_gone);
	event_drop(c->ray_answer);
	event_drop(c->wait);
	event_drop(c->core_wait);
	event_drop(c->turn);
	container_cancel_node_cores(c);
	container_workers_release(c);
	crashes_free(c->crashes);
	hooks_free(c->hooks);
	discard(c->put_off.fds, c->put_off.n_fds);
	if (c->end)
		background_cancel(&c->end->making.child);
	free(c->end);
	background_cancel(&c->limits);
	probe_watch_release(&c->probe);
	strbuf_release(&c->stacks);
	strbuf_release(&c->stacks_answer);
	errand_cancel(&c->spilling);
	background_cancel(&c->message);
	free(c->next_message);
	observer_close(&c->observer);
	discard_connection(c->fd);
	discard(&c->termination_fd, 1);
	closep(&c->pidfd);
	closep(&c->inotify_fd);
	closep(&c->cgroup.fd);
	free(c);
}
