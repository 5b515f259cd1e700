/* SPDX-License-Identifier: Apache-2.0 */
/* Removes RayFailures that are too old or too many. */
#include "operator/failure_controller/failure_gc.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/kube/object.h"

/*
 * Deletions are not urgent. They are sent a few at a time, so that the API server has time for
 * others.
 */
#define TICK_S 5
#define IN_FLIGHT_MAX 4
/*
 * An admission policy or webhook may forbid it in a namespace. The others have their turn
 * meanwhile.
 */
#define REFUSED_NS (600 * NS_PER_SEC)

struct failure_gc {
	struct failure_gc_options o;
	struct kept_set set;
	struct event *tick;
	size_t in_flight;
};

struct removal {
	struct failure_gc *gc;
	const char *reason;
	char key[512]; /* in `set` */
};

static void failure_gc_on_tick(evutil_socket_t fd, short what, void *arg);

int failure_gc_new(const struct failure_gc_options *options, struct failure_gc **ret_gc,
		   struct err *err)
{
	struct failure_gc *gc = calloc(1, sizeof(*gc));

	if (!gc)
		return err_set(err, ENOMEM, "failure gc");
	gc->o = *options;
	gc->tick = event_new(options->base, -1, EV_PERSIST, failure_gc_on_tick, gc);
	if (!gc->tick || event_add(gc->tick, &(struct timeval){ .tv_sec = TICK_S }) < 0) {
		failure_gc_free(gc);
		return err_set(err, ENOMEM, "failure gc");
	}
	/* Creates series that begin at 0, for increase(). */
	metrics_add(gc->o.metrics, METRIC_FAILURES_REMOVED, 0, "reason=\"age\"");
	metrics_add(gc->o.metrics, METRIC_FAILURES_REMOVED, 0, "reason=\"count\"");
	*ret_gc = gc;
	return 0;
}

void failure_gc_free(struct failure_gc *gc)
{
	if (!gc)
		return;
	kept_set_release(&gc->set);
	event_drop(gc->tick);
	free(gc);
}

void failure_gc_see(struct failure_gc *gc, enum store_change change, const cJSON *before,
		    const cJSON *after)
{
	if (change == STORE_ADDED && kept_set_add(&gc->set, after) < 0)
		log_warning_limited("a RayFailure is not counted: out of memory");
	if (change == STORE_REMOVED)
		kept_set_remove(&gc->set, before ? before : after);
}

static bool may_decide(const struct failure_gc *gc)
{
	return !gc->o.may_decide || gc->o.may_decide(gc->o.arg);
}

bool failure_gc_wants(const struct failure_gc *gc, const struct ray_failure *failure)
{
	int64_t ended_ns;

	if (!may_decide(gc) || !failure->namespace)
		return true;
	struct retention retention = gc->o.retention(gc->o.arg, failure->namespace);
	/* A RayFailure of unknown age is never too old. */
	if (!failure->ended_at || time_parse(failure->ended_at, &ended_ns, NULL) < 0)
		ended_ns = INT64_MAX;
	return retention_wants(&retention, &gc->set, failure->namespace, ended_ns,
			       now_realtime_ns());
}

static void remove_more(struct failure_gc *gc);

static void on_removed(void *arg, struct client_response *response)
{
	struct removal *removal = arg;
	struct failure_gc *gc = removal->gc;
	struct kept *kept = strmap_get(&gc->set.all, removal->key);
	bool gone = response->status / 100 == 2 || response->status == 404;

	gc->in_flight--;
	if (gone) {
		/* The watch will show the deletion. */
		log_info("failure %s: removed, by its %s", removal->key, removal->reason);
		metrics_add(gc->o.metrics, METRIC_FAILURES_REMOVED, 1, "reason=\"%s\"",
			    removal->reason);
	} else {
		log_warning_limited("failure %s: not removed: %s", removal->key,
				    err_text(&response->err));
		if (kept) {
			kept->leaving = false;
			kept_set_refused(&gc->set, kept->namespace, now_realtime_ns() + REFUSED_NS);
		}
	}
	free(removal);
	if (gone)
		remove_more(gc);
}

static bool start_removal(struct failure_gc *gc, struct kept *kept, const char *reason)
{
	_cleanup_json_ cJSON *object =
		object_new("afterglow.dev/v1alpha1", "RayFailure", kept->namespace, kept->name);
	struct removal *removal = calloc(1, sizeof(*removal));

	json_set_str(json_get(object, "metadata"), "uid", kept->uid);
	if (!removal)
		return false;
	*removal = (struct removal){ .gc = gc, .reason = reason };
	snprintf(removal->key, sizeof(removal->key), "%s/%s", kept->namespace, kept->name);
	if (client_delete(gc->o.client, object, -1, on_removed, removal, NULL) < 0) {
		free(removal);
		return false;
	}
	kept->leaving = true;
	gc->in_flight++;
	return true;
}

/* While the copy is incomplete, the oldest RayFailure in it may not be the oldest of all. */
static void remove_more(struct failure_gc *gc)
{
	const char *reason;
	struct kept *kept;

	while (gc->in_flight < IN_FLIGHT_MAX && gc->o.may_write(gc->o.arg) &&
	       informer_synced(gc->o.failures) && may_decide(gc) &&
	       (kept = retention_next(gc->o.retention, gc->o.arg, &gc->set, now_realtime_ns(),
				      &reason)))
		if (!start_removal(gc, kept, reason))
			return;
}

static void failure_gc_on_tick(evutil_socket_t, short, void *arg)
{
	remove_more(arg);
}
