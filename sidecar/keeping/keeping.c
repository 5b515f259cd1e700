/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a bundle in a child process. */
#include "sidecar/keeping/keeping.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/ending/postmortem.h"

/* For writing a bundle without making it durable; gathering its files takes 4 s at most. */
#define WRITE_WITHIN_NS (6 * NS_PER_SEC)
/* For making it durable; if the disk takes longer, the child goes on without us. */
#define COMMIT_WITHIN_NS (2 * NS_PER_SEC)
/* A disk that needs longer for the previous errand is not just slow. */
#define BEFORE_NS (10 * NS_PER_SEC)

_Static_assert(sizeof(struct keeping_message) <= ERRAND_MESSAGE_MAX,
	       "a report fits into a message");

#define CHILDREN_MAX 3 /* per bundle; if a child is killed, another one is started */
#define BUSY_LOOK_NS (10 * NS_PER_MS) /* between two looks at the previous errand */

static void send_keeping(const struct keep_work *w, bool done, int rc, const struct err *err,
			 const struct report *r)
{
	_cleanup_free_ struct keeping_message *m = calloc(1, sizeof(*m));

	if (!m)
		return;
	m->done = done;
	m->rc = rc;
	m->err = *err;
	m->report = *r;
	errand_send(w->fd, m, sizeof(*m), -1);
}

/*
 * Without permission the child ends: a sidecar that is being killed closes its socket before
 * PR_SET_PDEATHSIG reaches us, and the next one would not know the name of what we made visible,
 * and tell the death a second time.
 */
static void send_name(const struct report *r, void *arg)
{
	const struct keep_work *w = arg;
	char permission;

	send_keeping(w, false, 0, &(struct err){ 0 }, r);
	if (errand_receive(w->fd, &permission, sizeof(permission)) != sizeof(permission))
		_exit(1);
	/*
	 * A node that loses its power now is not to have the bundle and a history that knows of no
	 * end: two reports.
	 */
	history_sync(w->kept->observer->history);
}

/* The same without a child. */
static void name_here(const struct report *r, void *arg)
{
	const struct keep_work *w = arg;

	w->kept->named(r, w->kept->arg);
}

/*
 * Does what postmortem_keep does. If a child was killed just before it answered, the bundle has its
 * name already, and a second one would describe the same death. Otherwise what that child counted
 * is not counted as a repetition of the failure.
 */
static int keep_once(struct keep_work *w, void (*naming)(const struct report *r, void *arg),
		     struct err *err)
{
	const struct report *before = &w->last.report;
	struct observer o = *w->kept->observer;

	if (before->directory[0] && access(before->directory, F_OK) == 0) {
		*w->kept->report = *before;
		w->kept->report->keeping.spooled = record_options_ships(w->options);
		return 0;
	}
	if (w->counts)
		spool_set_back(w->spool, w->counts);
	o.naming = naming;
	o.naming_arg = w;
	return postmortem_keep(w->kept->report, &o, w->options, w->path, w->spool, err);
}

static void keep(int fd, void *arg)
{
	struct keep_work *w = arg;
	struct err err = { 0 };

	w->fd = fd;
	int rc = keep_once(w, send_name, &err);
	send_keeping(w, true, rc, &err, w->kept->report);
}

static void permission_send(const struct keep_work *w)
{
	errand_send(w->child->errand.fd, "", 1, -1);
}

static void on_keeping(const void *data, size_t len, int *, void *arg)
{
	struct keep_work *w = arg;

	if (len != sizeof(w->last))
		return;
	memcpy(&w->last, data, len);
	if (w->last.done) {
		/* Only its end is still to come. */
		event_del(w->turn);
		background_limit(w->child, COMMIT_WITHIN_NS);
		return;
	}
	/* The bundle gets a second name if only the report fits and the rest does not. */
	w->named = true;
	name_here(&w->last.report, w);
	permission_send(w);
	background_limit(w->child, INT64_MAX);
	timer_after(w->turn, COMMIT_WITHIN_NS);
}

static void keep_finish(struct keep_work *w, int rc, struct err *err)
{
	event_del(w->turn);
	free(TAKE_PTR(w->counts));
	w->done(rc, err, w->arg);
}

/*
 * Lets the child go on alone with a bundle that has its name but is not durable yet, because the
 * disk is slow. If it fails, it may choose another name, for which it has our permission
 * beforehand.
 */
static void go_on_without(struct keep_work *w)
{
	struct report *r = w->kept->report;

	permission_send(w);
	event_free(TAKE_PTR(w->child->event));
	*r = w->last.report;
	r->keeping.spooled = record_options_ships(w->options);
	log_warning(
		"%s: the disk of %s has not confirmed the bundle yet, and a child process waits for it",
		r->id.container, w->path);
	keep_finish(w, 0, &(struct err){ 0 });
}

static void keep_begin(struct keep_work *w);

static void on_child_end(bool in_time, void *arg)
{
	struct keep_work *w = arg;
	struct err err = { 0 };

	if (w->last.done) {
		*w->kept->report = w->last.report;
		keep_finish(w, w->last.rc, &w->last.err);
	} else if (in_time) {
		keep_begin(w); /* it was killed */
	} else {
		err_set(&err, ETIMEDOUT, "%s does not answer", w->path);
		keep_finish(w, -ETIMEDOUT, &err);
	}
}

static void keep_begin(struct keep_work *w)
{
	struct err err = { 0 };
	int rc = -ECHILD;

	w->named = w->last.done = false;
	event_del(w->turn);
	if (w->children++ < CHILDREN_MAX)
		rc = background_start(w->child, w->base, keep, w, WRITE_WITHIN_NS, on_keeping,
				      on_child_end, w, &err);
	if (rc == -EBUSY)
		keep_finish(w, err_wrap(&err, "%s", w->path), &err);
	/*
	 * Children that are killed again and again are perhaps victims of the OOM killer of the
	 * node. The pod may have no more processes if a fork bomb in the Ray container has used
	 * them up. The report is written in this process then.
	 */
	else if (rc < 0)
		keep_finish(w, keep_once(w, name_here, &err), &err);
}

static bool is_one_before(const struct keep_work *w)
{
	struct errand *e = &w->child->errand;
	int64_t now = now_boottime_ns();

	return !errand_listen(e, w->on_rest, w->rest_arg) && now < w->wait_until_ns &&
	       now - e->since_ns < BEFORE_NS;
}

static void on_keep_turn(evutil_socket_t, short, void *arg)
{
	struct keep_work *w = arg;

	if (w->named)
		go_on_without(w);
	else if (!w->path)
		keep_finish(w, 0, &(struct err){ 0 });
	else if (is_one_before(w))
		timer_after(w->turn, BUSY_LOOK_NS);
	else {
		w->counts = w->spool ? spool_counts(w->spool) : NULL;
		keep_begin(w);
	}
}

int keeping_init(struct keep_work *w, struct event_base *base, struct err *err)
{
	w->base = base;
	w->turn = evtimer_new(base, on_keep_turn, w);
	return w->turn ? 0 : err_set(err, ENOMEM, "keeper");
}

void keeping_release(struct keep_work *w)
{
	event_drop(w->turn);
	free(w->counts);
}

void keeping_begin(struct keep_work *w)
{
	w->children = 0;
	w->named = false;
	w->last.report.bundle[0] = w->last.report.directory[0] = '\0';
	w->wait_until_ns = now_boottime_ns() + WRITE_WITHIN_NS;
	event_active(w->turn, EV_TIMEOUT, 0);
}
