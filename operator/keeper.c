/* SPDX-License-Identifier: Apache-2.0 */
/* Removes RayFailures that are too old or too many. */
#include "operator/keeper.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "operator/raycluster/names.h"

/* Deletions are no hurry; a few at a time leave the API server to others. */
#define TICK_S 5
#define IN_FLIGHT_MAX 4

struct keeper {
	struct keeper_options o;
	struct kept_set set;
	struct event *tick;
	size_t in_flight;
};

struct removal {
	struct keeper *keeper;
	char *key; /* of set */
	const char *reason;
};

static void on_tick(evutil_socket_t fd, short what, void *arg);

int keeper_new(const struct keeper_options *options, struct keeper **ret_keeper, struct err *err)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return err_set(err, ENOMEM, "keeper");
	keeper->o = *options;
	keeper->tick = event_new(options->base, -1, EV_PERSIST, on_tick, keeper);
	if (!keeper->tick || event_add(keeper->tick, &(struct timeval){ .tv_sec = TICK_S }) < 0) {
		keeper_free(keeper);
		return err_set(err, ENOMEM, "keeper");
	}
	*ret_keeper = keeper;
	return 0;
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	kept_set_release(&keeper->set);
	if (keeper->tick)
		event_free(keeper->tick);
	free(keeper);
}

void keeper_see(struct keeper *keeper, enum store_change change, const cJSON *before, const cJSON *after)
{
	if (change == STORE_ADDED && kept_set_add(&keeper->set, after) < 0)
		log_warning_limited("a RayFailure is not counted: out of memory");
	if (change == STORE_REMOVED)
		kept_set_remove(&keeper->set, before ? before : after);
}

static bool may_decide(const struct keeper *keeper)
{
	return !keeper->o.may_decide || keeper->o.may_decide(keeper->o.arg);
}

bool keeper_wants(void *keeper_arg, const cJSON *failure)
{
	const struct keeper *keeper = keeper_arg;
	const char *namespace = json_str(failure, "metadata.namespace");

	if (!may_decide(keeper) || !namespace)
		return true;
	struct retention retention = keeper->o.retention(keeper->o.arg, namespace);
	return retention_wants(&retention, &keeper->set, failure, now_realtime_ns());
}

static void remove_more(struct keeper *keeper);

static void on_removed(void *arg, struct client_response *response)
{
	struct removal *removal = arg;
	struct keeper *keeper = removal->keeper;
	struct kept *kept = strmap_get(&keeper->set.all, removal->key);
	bool gone = response->status / 100 == 2 || response->status == 404;

	keeper->in_flight--;
	if (gone) {
		/* The watch tells that it is gone. */
		log_info("failure %s: removed, by its %s", removal->key, removal->reason);
		metrics_add(keeper->o.metrics, METRIC_FAILURES_REMOVED, 1, "reason=\"%s\"", removal->reason);
	} else {
		log_warning_limited("failure %s: not removed: %s", removal->key, err_text(&response->err));
		if (kept)
			kept->leaving = false;
	}
	free(removal->key);
	free(removal);
	if (gone)
		remove_more(keeper);
}

static bool start_removal(struct keeper *keeper, struct kept *kept, const char *reason)
{
	_cleanup_json_ cJSON *object = object_new("afterglow.dev/v1alpha1", "RayFailure", kept->namespace, kept->name);
	struct removal *removal = calloc(1, sizeof(*removal));
	char key[512];

	json_set_str(json_get(object, "metadata"), "uid", kept->uid);
	snprintf(key, sizeof(key), "%s/%s", kept->namespace, kept->name);
	if (removal)
		*removal = (struct removal){ .keeper = keeper, .key = strdup(key), .reason = reason };
	if (!removal || !removal->key || client_delete(keeper->o.client, object, -1, on_removed, removal, NULL) < 0) {
		if (removal)
			free(removal->key);
		free(removal);
		return false;
	}
	kept->leaving = true;
	keeper->in_flight++;
	return true;
}

/* While the copy is not whole, what looks like the oldest may not be it. */
static void remove_more(struct keeper *keeper)
{
	const char *reason;
	struct kept *kept;

	while (keeper->in_flight < IN_FLIGHT_MAX && keeper->o.may_write(keeper->o.arg) &&
	       informer_synced(keeper->o.failures) && may_decide(keeper) &&
	       (kept = retention_next(keeper->o.retention, keeper->o.arg, &keeper->set, now_realtime_ns(), &reason)))
		if (!start_removal(keeper, kept, reason))
			return;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	remove_more(arg);
}
