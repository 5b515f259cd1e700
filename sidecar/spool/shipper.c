/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ships the bundles of the spool to the store, one child process at a time. Before each child an
 * errand looks into the spool: it removes the bundle that was shipped and finds the next. It is an
 * errand because the spool's disk may not answer.
 */
#include "sidecar/spool/shipper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/background.h"
#include "lib/loop/child.h"
#include "lib/units.h"
#include "sidecar/spool/ship_look.h"
#include "sidecar/store/bundle.h"

#define PRUNE_EVERY_NS (600 * NS_PER_SEC)
#define LOOK_WITHIN_NS (60 * NS_PER_SEC)
#define LOOK_LAST_NS NS_PER_SEC /* time limit of a look when there is no time left to ship */
#define LOOK_AGAIN_NS (5 * NS_PER_SEC) /* pause after a look that did not return */
#define HELD_NS (50 * NS_PER_MS) /* an addition is begun within milliseconds */

enum state {
	IDLE,
	WAITING, /* for the next try */
	LOOKING, /* for a look into the spool */
	RUNNING, /* for the end of the child */
};

struct shipper {
	struct event_base *base;
	struct shipper_options options;
	struct shipper_callbacks callbacks;
	struct event *timer; /* starts the next step */
	enum state state;
	struct child *child; /* NULL: no child is running */
	bool pruning; /* the child is not afterglow-ship but removes old bundles from the store */
	struct background looking;
	struct ship_look look; /* the result of the last look */
	/* The bundle at `path` is in the store, and the next look removes it from the spool. */
	bool shipped;
	/* During a look somebody reported a new bundle, which the look may have missed. */
	bool kicked;
	/* The bundle that is being shipped or was tried last, relative to the spool. */
	char path[BUNDLE_PATH_MAX];
	struct manifest_identity manifest;
	struct ship_done done;
	struct ship_result result;
	unsigned int failures; /* in a row */
	int64_t stop_ns; /* 0: not stopping */
	int64_t pruned_ns;
	int64_t clock_offset_ns; /* as it was when we started */
	struct shipper_stats stats;
};

static void begin_next(struct shipper *s);

static void shipper_set_timer(struct shipper *s, int64_t ns)
{
	const struct timeval tv = { .tv_sec = ns / NS_PER_SEC, .tv_usec = ns % NS_PER_SEC / 1000 };

	event_add(s->timer, &tv);
}

/* --- The spool --- */

/* The body of the errand. It has a copy of our memory. */
static void look_into_spool(int fd, void *arg)
{
	const struct shipper *s = arg;
	struct ship_look look;

	ship_look(&(struct ship_question){ .spool = s->options.spool,
					   .shipped = s->shipped ? s->path : NULL,
					   .manifest = s->manifest,
					   .after = s->failures ? s->path : NULL,
					   .done = &s->done },
		  &look);
	errand_send(fd, &look, sizeof(look), -1);
}

/* --- The child --- */

static void shipper_ended(const struct child_result *r, void *arg);

static int64_t patience_ns(const struct shipper *s)
{
	return s->stop_ns ? MIN(SHIP_PATIENCE_NS, MAX(s->stop_ns - now_boottime_ns(), (int64_t)0)) :
			    SHIP_PATIENCE_NS;
}

static void shipper_on_line(const char *line, size_t len, void *arg)
{
	struct shipper *s = arg;

	child_extend(s->child, patience_ns(s));
	if (!s->pruning)
		ship_line(line, len, &s->result);
}

static int shipper_start(struct shipper *s, const char *const *argv, struct err *err)
{
	char *const *env = ship_environment();
	/* clang-format off */
	const struct child_work work = {
		.path = argv[0], .argv = argv, .env = env, .on_line = shipper_on_line, .line_max = SHIP_LINE_MAX, .no_new_privs = true, .within_ns = patience_ns(s),
	};
	/* clang-format on */

	s->result = (struct ship_result){ .has_result = false };
	if (child_start(s->base, &work, shipper_ended, s, &s->child, err) < 0)
		return -err->code;
	s->state = RUNNING;
	return 0;
}

/* --- The outcome --- */

static void shipper_on_shipped(struct shipper *s)
{
	s->failures = 0;
	s->stats.failing = false;
	s->stats.shipped++;
	s->shipped = true;
}

static void shipper_on_failed(struct shipper *s)
{
	static const char *const how[] = { "a person has to fix this", "the sidecar tries again" };

	s->stats.failed[s->result.kind]++;
	if (!s->stats.failing || s->stats.last.kind != s->result.kind)
		log_warning("store: %s (%s; %s)", s->result.error, ship_kind_name(s->result.kind),
			    how[s->result.retry]);
	s->stats.failing = true;
	s->stats.last = s->result;
	s->failures++;
}

static void wait_for_next_try(struct shipper *s)
{
	double random = (double)(now_boottime_ns() / 1000 % 1000) / 1000;

	s->state = WAITING;
	shipper_set_timer(s, ship_backoff(s->failures, &s->result, s->stop_ns != 0, random));
	/* The callback comes last, because it may call shipper_busy. */
	s->callbacks.failed(&s->result, s->callbacks.arg);
}

/* Does nothing until shipper_kick is called. */
static void shipper_rest(struct shipper *s)
{
	s->state = IDLE;
	s->callbacks.idle(s->callbacks.arg);
}

static void shipper_ended(const struct child_result *r, void *arg)
{
	struct shipper *s = arg;
	bool in_time = !s->stop_ns || now_boottime_ns() < s->stop_ns;

	s->child = NULL;
	s->state = IDLE;
	if (s->pruning) {
		s->pruning = false;
		if (r->status != 0)
			log_warning_limited(
				"store: old bundles could not be removed: afterglow-sidecar prune ended with wait status 0x%x",
				(unsigned int)r->status);
		begin_next(s);
		return;
	}
	ship_ended(r->status,
		   !r->timed_out ? SHIP_END_OWN :
		   in_time	 ? SHIP_END_HUNG :
				   SHIP_END_GRACE,
		   &s->result);
	if (s->result.shipped) {
		shipper_on_shipped(s);
		begin_next(s);
		return;
	}
	shipper_on_failed(s);
	/*
	 * While the pod terminates there is no time for a fault of the store to be repaired. But if
	 * only this bundle is bad, the next one may be good.
	 */
	if (s->stop_ns && !s->result.retry && s->result.kind != SHIP_BUNDLE) {
		s->callbacks.failed(&s->result, s->callbacks.arg);
		shipper_rest(s);
	} else
		wait_for_next_try(s);
}

/* --- What comes next --- */

static int64_t seconds_left(const struct shipper *s)
{
	return s->stop_ns ? (s->stop_ns - now_boottime_ns()) / NS_PER_SEC :
			    ship_run_s(s->look.bytes);
}

/* Returns whether there is no time left to ship. */
static bool shipper_is_over(const struct shipper *s)
{
	return s->stop_ns && seconds_left(s) < 1;
}

static void begin_ship(struct shipper *s)
{
	const char *argv[SHIP_ARGS_MAX];
	char bundle[2 * BUNDLE_PATH_MAX], deadline[24];
	struct err err = { 0 };

	snprintf(bundle, sizeof(bundle), "%s/%s", s->options.spool, s->path);
	snprintf(deadline, sizeof(deadline), "%" PRId64, MAX(seconds_left(s), (int64_t)1));
	ship_args(&s->options.store, s->options.program, s->path, deadline, bundle, argv);
	s->pruning = false;
	if (shipper_start(s, argv, &err) == 0)
		return;
	s->result = (struct ship_result){ .retry = true, .kind = SHIP_PROGRAM };
	snprintf(s->result.error, sizeof(s->result.error), "%.200s", err_text(&err));
	shipper_on_failed(s);
	wait_for_next_try(s);
}

/*
 * Starts a child that removes old bundles of this cluster from a directory store. It is a child
 * because the store may hang.
 */
static bool begin_prune(struct shipper *s)
{
	const struct quota by_clock = quota_by_clock(&s->options.retention, s->clock_offset_ns,
						     now_realtime_ns() - now_boottime_ns());
	const struct quota *q = &by_clock;
	const char *directory = s->options.store.url ? store_directory(s->options.store.url) : NULL;
	char bytes[24], count[24], age[24];
	const char *argv[] = { s->options.pruner, "prune",
			       "--keep-bytes",	  bytes,
			       "--keep-bundles",  count,
			       "--keep-seconds",  age,
			       "--below",	  s->options.retain_below,
			       directory,	  NULL };
	int64_t now = now_boottime_ns();
	struct err err = { 0 };

	if (!directory || !s->options.pruner || !s->options.retain_below ||
	    (!q->bytes && !q->count && !q->age_ns) || s->stop_ns ||
	    (s->pruned_ns && now - s->pruned_ns < PRUNE_EVERY_NS))
		return false;
	s->pruned_ns = now;
	snprintf(bytes, sizeof(bytes), "%" PRId64, q->bytes);
	snprintf(count, sizeof(count), "%" PRId64, q->count);
	snprintf(age, sizeof(age), "%" PRId64, q->age_ns / NS_PER_SEC);
	s->pruning = true;
	if (shipper_start(s, argv, &err) == 0)
		return true;
	log_warning_limited("store: old bundles are not removed: %s", err_text(&err));
	s->pruning = false;
	return false;
}

/*
 * Reports a shipped bundle once it is known whether it left the spool. If the look failed, the next
 * look finds out.
 */
static void tell_shipped(struct shipper *s)
{
	if (!s->shipped || (!s->looking.answered && !shipper_is_over(s)))
		return;
	s->shipped = false;
	if (s->looking.answered && s->look.stays)
		ship_done_add(&s->done, &s->manifest);
	s->callbacks.shipped(s->path, s->callbacks.arg);
}

static void wait_for_spool(struct shipper *s, const char *why)
{
	log_warning_limited("store: no bundle is shipped from %s: %s", s->options.spool, why);
	if (shipper_is_over(s)) {
		shipper_rest(s);
		return;
	}
	s->state = WAITING;
	shipper_set_timer(s, s->stop_ns ? NS_PER_SEC : LOOK_AGAIN_NS);
}

static void shipper_go_on(struct shipper *s)
{
	if (shipper_is_over(s))
		shipper_rest(s);
	else if (s->look.found) {
		memcpy(s->path, s->look.path, sizeof(s->path));
		s->manifest = s->look.manifest;
		begin_ship(s);
	} else if (s->kicked)
		begin_next(s);
	else if (!begin_prune(s)) {
		s->failures = 0;
		shipper_rest(s);
	}
}

static void on_looked(bool in_time, void *arg)
{
	struct shipper *s = arg;

	s->state = IDLE;
	tell_shipped(s);
	if (in_time && s->looking.answered)
		shipper_go_on(s);
	else
		wait_for_spool(s,
			       in_time ? "the process that reads it died" : "it does not answer");
}

static int64_t look_within_ns(const struct shipper *s)
{
	return s->stop_ns ? MIN(LOOK_WITHIN_NS, MAX(s->stop_ns - now_boottime_ns(), LOOK_LAST_NS)) :
			    LOOK_WITHIN_NS;
}

/* Returns whether a look, which removes what was shipped, has to wait for an addition. */
static bool shipper_is_held(const struct shipper *s)
{
	return (s->shipped || s->done.n > 0) && s->callbacks.held && s->callbacks.held();
}

static void begin_next(struct shipper *s)
{
	struct err err = { 0 };

	s->kicked = false;
	if (shipper_is_over(s) && !s->shipped)
		shipper_rest(s);
	else if (shipper_is_held(s)) {
		s->state = WAITING;
		shipper_set_timer(s, HELD_NS);
	} else if (background_start(&s->looking, s->base, look_into_spool, s, look_within_ns(s),
				    NULL, on_looked, s, &err) == 0)
		s->state = LOOKING;
	else {
		tell_shipped(s);
		wait_for_spool(s, err_text(&err));
	}
}

static void shipper_on_timer(evutil_socket_t, short, void *arg)
{
	struct shipper *s = arg;

	begin_next(s);
}

struct shipper *shipper_new(struct event_base *base, const struct shipper_options *options,
			    const struct shipper_callbacks *callbacks)
{
	struct shipper *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base = base;
	s->looking = BACKGROUND_FOR(s->look);
	s->options = *options;
	s->callbacks = *callbacks;
	s->clock_offset_ns = now_realtime_ns() - now_boottime_ns();
	s->timer = evtimer_new(base, shipper_on_timer, s);
	if (!s->timer) {
		free(s);
		return NULL;
	}
	return s;
}

void shipper_free(struct shipper *s)
{
	if (!s)
		return;
	child_cancel(s->child);
	background_cancel(&s->looking);
	event_free(s->timer);
	free(s);
}

void shipper_kick(struct shipper *s)
{
	if (!s || s->state == RUNNING || (s->state == WAITING && !s->stop_ns))
		return;
	if (s->state == LOOKING) {
		s->kicked = true;
		return;
	}
	/*
	 * The look starts from the event loop, not within this call, so several commits in a row
	 * cause one look.
	 */
	s->state = WAITING;
	shipper_set_timer(s, 0);
}

void shipper_stop(struct shipper *s, int64_t deadline_ns)
{
	if (!s || deadline_ns <= s->stop_ns)
		return;
	s->stop_ns = deadline_ns;
	if (s->state == RUNNING)
		child_extend(s->child, patience_ns(s));
	else if (s->state == LOOKING)
		background_limit(&s->looking, look_within_ns(s));
	shipper_kick(s);
}

bool shipper_busy(const struct shipper *s)
{
	return s && s->state != IDLE;
}

const struct shipper_stats *shipper_stats(const struct shipper *s)
{
	return &s->stats;
}
