/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a bundle in a child process. */
#include "sidecar/record/keeping.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/record/postmortem.h"

/* For writing a bundle without making it durable; gathering its files takes 4 s at most. */
#define WRITE_WITHIN_NS (6 * NS_PER_SEC)
/* For making it durable; if the disk takes longer, the child goes on without us. */
#define COMMIT_WITHIN_NS (2 * NS_PER_SEC)
/* A disk that needs longer for the previous errand is not just slow. */
#define BEFORE_NS (10 * NS_PER_SEC)

struct keeping_message {
	/*
	 * False: the bundle has its name, and the child waits for our permission to make it
	 * visible.
	 */
	bool done;
	int rc;
	struct err err;
	struct report report;
};

_Static_assert(sizeof(struct keeping_message) <= ERRAND_MESSAGE_MAX, "a report fits into a message");

#define MEANWHILE_NS (50 * NS_PER_MS) /* between two calls of the callback while we wait */

#define CHILDREN_MAX 3 /* per bundle; if a child is killed, another one is started */

struct keep_work {
	const struct keeping_place *at;
	struct report *r;
	const struct observer *o;
	int fd; /* socket of the errand */
	/* In the parent: the last message, which may be from a child that was killed. */
	struct keeping_message *last;
	/* As they were before the first child; NULL: there are no bounds. */
	const struct spool_counts *counts;
	bool named;
};

static void send_keeping(const struct keep_work *w, bool done, int rc, const struct err *err, const struct report *r)
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
 * Without permission the child ends: a sidecar that is being killed closes its socket before PR_SET_PDEATHSIG reaches us, and the next
 * one would not know the name of what we made visible, and tell the death a second time.
 */
static void send_name(const struct report *r, void *arg)
{
	const struct keep_work *w = arg;
	char permission;

	send_keeping(w, false, 0, &(struct err){ 0 }, r);
	if (errand_receive(w->fd, &permission, sizeof(permission)) != sizeof(permission))
		_exit(1);
	/* A node that loses its power now is not to have the bundle and a history that knows of no end: two reports. */
	history_sync(w->o->history);
}

/*
 * Does what postmortem_keep does. If a child was killed just before it answered, the bundle has its
 * name already, and a second one would describe the same death. Otherwise what that child counted
 * is not counted as a repetition of the failure.
 */
static int keep_once(struct keep_work *w, const struct observer *o, struct err *err)
{
	const struct report *before = &w->last->report;

	if (before->directory[0] && access(before->directory, F_OK) == 0) {
		*w->r = *before;
		w->r->keeping.spooled = record_options_ships(w->at->options);
		return 0;
	}
	if (w->counts)
		spool_set_back(w->at->spool, w->counts);
	return postmortem_keep(w->r, o, w->at->options, w->at->path, w->at->spool, err);
}

static void keep(int fd, void *arg)
{
	struct keep_work *w = arg;
	struct observer o = *w->o;
	struct err err = { 0 };
	int rc;

	w->fd = fd;
	o.naming = send_name;
	o.naming_arg = w;
	rc = keep_once(w, &o, &err);
	send_keeping(w, true, rc, &err, w->r);
}

static void permission_send(const struct keep_work *w)
{
	errand_send(w->at->errand->fd, "", 1, -1);
}

static bool on_keeping(const void *data, size_t len, int passed_fd, void *arg)
{
	struct keep_work *w = arg;

	closep(&passed_fd);
	if (len != sizeof(*w->last))
		return false;
	memcpy(w->last, data, len);
	if (!w->last->done) {
		w->named = true;
		postmortem_named(w->o, &w->last->report);
		permission_send(w);
	}
	return true;
}

/* Waits for the errand, and calls the callback meanwhile. */
static enum errand_state wait_for_child(const struct keeping_place *at, int64_t within_ns, errand_message_fn on_message, void *arg)
{
	int64_t until = now_boottime_ns() + within_ns;

	for (;;) {
		int64_t left = MAX(until - now_boottime_ns(), (int64_t)0);
		enum errand_state state = errand_wait(at->errand, MIN(left, MEANWHILE_NS), on_message, arg);

		if (state != ERRAND_LATE || left == 0)
			return state;
		if (at->meanwhile)
			at->meanwhile(at->meanwhile_arg);
	}
}

/*
 * Lets the child go on alone with a bundle that has its name but is not durable yet, because the
 * disk is slow. If it fails, it may choose another name, for which it has our permission beforehand.
 */
static int go_on_without(struct keep_work *w)
{
	permission_send(w);
	*w->r = w->last->report;
	w->r->keeping.spooled = record_options_ships(w->at->options);
	log_warning("%s: the disk of %s has not confirmed the bundle yet, and a child process waits for it", w->r->id.container, w->at->path);
	return 0;
}

/* Returns -ECHILD if the child ended without an answer, as one does that was killed. */
static int follow_keeping(struct keep_work *w, struct err *err)
{
	enum errand_state state = wait_for_child(w->at, WRITE_WITHIN_NS, on_keeping, w);

	/* The bundle gets a second name if only the report fits and the rest does not. */
	while (state == ERRAND_ANSWERED && !w->last->done)
		state = wait_for_child(w->at, COMMIT_WITHIN_NS, on_keeping, w);
	if (state == ERRAND_ANSWERED && w->last->done) {
		*w->r = w->last->report;
		*err = w->last->err;
		/* Only its end is still to come. */
		wait_for_child(w->at, COMMIT_WITHIN_NS, on_keeping, w);
		return w->last->rc;
	}
	if (state == ERRAND_ENDED)
		return err_set(err, ECHILD, "the child that writes the bundle");
	if (state == ERRAND_LATE && w->named)
		return go_on_without(w);
	/* The child keeps its place until it has ended, because another one would hang as well. */
	kill(w->at->errand->pid, SIGKILL);
	return err_set(err, ETIMEDOUT, "%s does not answer", w->at->path);
}

static void wait_for_the_one_before(const struct keeping_place *at)
{
	if (errand_busy(at->errand) && errand_age_ns(at->errand, now_boottime_ns()) < BEFORE_NS)
		wait_for_child(at, WRITE_WITHIN_NS, at->on_rest, at->arg);
}

int keeping_write(const struct keeping_place *at, struct report *r, const struct observer *o, struct err *err)
{
	_cleanup_free_ struct keeping_message *last = calloc(1, sizeof(*last));
	_cleanup_free_ struct spool_counts *counts = NULL;
	struct keep_work w = { .at = at, .r = r, .o = o, .fd = -1, .last = last };
	int rc = -ECHILD;

	if (!last)
		return err_set(err, ENOMEM, "bundle");
	wait_for_the_one_before(at);
	w.counts = counts = at->spool ? spool_counts(at->spool) : NULL;
	for (unsigned i = 0; i < CHILDREN_MAX && rc == -ECHILD; i++) {
		w.named = last->done = false;
		rc = errand_start(at->errand, keep, &w, err);
		if (rc == -EBUSY)
			return err_wrap(err, "%s", at->path);
		/*
		 * The pod may have no more processes if a fork bomb in the Ray container has used
		 * them up.
		 */
		if (rc < 0)
			return keep_once(&w, o, err);
		rc = follow_keeping(&w, err);
	}
	/*
	 * Children are killed again and again, perhaps by the OOM killer of the node. The report is
	 * written in this process then.
	 */
	return rc == -ECHILD ? keep_once(&w, o, err) : rc;
}
