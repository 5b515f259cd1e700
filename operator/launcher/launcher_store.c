/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the launchers' ConfigMap in every namespace with Ray.
 *
 * Each namespace has a time at which it is due. run() reads the ConfigMaps of the
 * namespaces that are due; the answer decides what to write, and the answer to
 * the write sets the next time.
 */
#include "operator/launcher/launcher_store.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/kube/backoff.h"
#include "operator/launcher/launcher_configmap.h"

/* After at most this time a ConfigMap that somebody changed or deleted is restored. */
#define RECHECK_NS (600 * NS_PER_SEC)
/* An answer has 300 KiB for each release, so only a few run at a time. */
#define REQUESTS_MAX 4
/*
 * The delay after a failure that may pass by itself doubles up to this limit. With jitter it is at
 * most twice as long.
 */
#define RETRY_MAX_NS (300 * NS_PER_SEC)

struct launcher_store {
	struct launcher_store_options o;
	struct strmap places; /* namespace -> struct place */
	struct event *wake;
	size_t in_flight;
	bool incomplete; /* a pod or a cluster was not counted */
};

struct place {
	struct launcher_store *store;
	char *namespace;
	struct launcher_configmap known;
	struct backoff backoff;
	int64_t due_ns; /* 0: never. If it is set during a request, another request follows. */
	bool under_way, settled;
	bool in_trouble; /* the trouble has been logged */
	bool ends; /* the namespace is being deleted */
	bool creating; /* the write in progress is a POST */
};

static void place_free(void *value)
{
	struct place *place = value;

	if (!place)
		return;
	launcher_configmap_release(&place->known);
	free(place->namespace);
	free(place);
}

/* --- Changes --------------------------------------------------------------------------------- */

static void launcher_store_wake(struct launcher_store *store)
{
	event_active(store->wake, 0, 0);
}

static struct place *place_new(struct launcher_store *store, const char *namespace)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->store = store;
	place->namespace = strdup(namespace);
	backoff_init(&place->backoff, (uint64_t)now_realtime_ns());
	place->backoff.max_ns = RETRY_MAX_NS;
	place->backoff.reset_ns = 2 * RETRY_MAX_NS;
	if (!place->namespace || strmap_put(&store->places, namespace, place, NULL) < 0) {
		place_free(place);
		return NULL;
	}
	return place;
}

/*
 * Returns the place for an object that is being added. A new place, or one that had no Ray, is due.
 */
static struct place *place_for(struct launcher_store *store, const cJSON *object)
{
	const char *namespace = json_str(object, "metadata.namespace");
	struct place *place = namespace ? strmap_get(&store->places, namespace) : NULL;
	bool is_new = !place || place->known.empty_ns;

	if (!place && namespace && store->places.n < LAUNCHER_STORE_PLACES_MAX)
		place = place_new(store, namespace);
	if (!place) {
		if (!store->incomplete)
			log_warning(
				"too many namespaces, or no memory: in namespace %s pods run without the launcher, and launchers "
				"of other releases stay everywhere",
				namespace ? namespace : "?");
		store->incomplete = true;
	} else if (is_new) {
		place->settled = false;
		place->due_ns = now_boottime_ns();
		launcher_store_wake(store);
	}
	return place;
}

static struct place *launcher_store_place_of(const struct launcher_store *store,
					     const cJSON *object)
{
	const char *namespace = json_str(object, "metadata.namespace");

	return namespace ? strmap_get(&store->places, namespace) : NULL;
}

/* An hour after the last object of Ray is gone, the ConfigMap is looked at once more. */
static void note_removal(struct place *place)
{
	if (place->known.empty_ns)
		place->due_ns = place->known.empty_ns + LAUNCHER_UNUSED_NS;
}

/* The new state is counted first, so that a namespace with one pod is never counted as empty. */
void launcher_store_see_pod(struct launcher_store *store, const cJSON *before, const cJSON *after)
{
	struct place *place;

	if (!store)
		return;
	if (after && (place = place_for(store, after)))
		launcher_configmap_add_pod(&place->known, after);
	if (before && (place = launcher_store_place_of(store, before))) {
		launcher_configmap_remove_pod(&place->known, before, now_boottime_ns());
		note_removal(place);
	}
}

void launcher_store_see_cluster(struct launcher_store *store, const cJSON *before,
				const cJSON *after)
{
	struct place *place;

	if (!store)
		return;
	if (after && (place = place_for(store, after)))
		launcher_configmap_add_cluster(&place->known);
	if (before && (place = launcher_store_place_of(store, before))) {
		launcher_configmap_remove_cluster(&place->known, now_boottime_ns());
		note_removal(place);
	}
}

bool launcher_store_settled(const struct launcher_store *store, const char *namespace)
{
	const struct place *place = store ? strmap_get(&store->places, namespace) : NULL;

	return !place || place->settled;
}

/*
 * --- Answers
 * ----------------------------------------------------------------------------------------------
 */

static void launcher_store_settle(struct place *place)
{
	struct launcher_store *store = place->store;
	bool was = place->settled;

	place->settled = true;
	if (!was && store->o.on_settled)
		store->o.on_settled(store->o.arg, place->namespace);
	launcher_store_wake(store);
}

static void launcher_store_conclude(struct place *place)
{
	int64_t now = now_boottime_ns();

	if (place->in_trouble)
		log_info("namespace %s: the ConfigMap " LAUNCHER_CONFIGMAP
			 " is there again, with the launchers",
			 place->namespace);
	place->in_trouble = false;
	/* A pod or cluster appeared while we removed the keys, or the last one has gone. */
	if (place->due_ns) {
		launcher_store_wake(place->store);
		return;
	}
	if (!place->known.empty_ns)
		place->due_ns = now + RECHECK_NS;
	else if (!launcher_configmap_is_over(&place->known, now))
		note_removal(place);
	launcher_store_settle(place);
}

/*
 * Logs trouble once, until a request succeeds again. If we lack the right, the next attempt comes
 * at the usual time.
 */
static void launcher_store_take_trouble(struct place *place, int status, int64_t retry_after_ns,
					const struct err *err)
{
	int64_t now = now_boottime_ns(),
		delay = status == 403 ? RECHECK_NS : backoff_next(&place->backoff, now);

	if (!place->in_trouble)
		log_warning("namespace %s: the ConfigMap " LAUNCHER_CONFIGMAP
			    " cannot be kept, so Ray pods may run without the "
			    "launcher and are not recorded then: %s",
			    place->namespace, err_text(err));
	place->in_trouble = true;
	place->due_ns = now + MAX(delay, retry_after_ns);
	launcher_store_settle(place);
}

static void launcher_store_take_failure(struct place *place, const struct client_response *response)
{
	if (client_namespace_ends(response)) {
		place->ends = true;
		place->due_ns = 0;
		launcher_store_settle(place);
	} else if (response->status == 404 || response->status == 409) {
		/* Somebody deleted or created it before us, so it is read again. */
		place->due_ns =
			now_boottime_ns() + backoff_next(&place->backoff, now_boottime_ns());
		launcher_store_wake(place->store);
	} else {
		launcher_store_take_trouble(place, response->status, response->retry_after_ns,
					    &response->err);
	}
}

static void launcher_store_on_written(void *arg, struct client_response *response)
{
	struct place *place = arg;
	struct launcher_store *store = place->store;
	bool done = response->status / 100 == 2;

	place->under_way = false;
	store->in_flight--;
	metrics_add(store->o.metrics, METRIC_OPERATIONS, 1,
		    "operation=\"%s\",kind=\"ConfigMap\",result=\"%s\"",
		    place->creating ? "create" : "merge", done ? "ok" : "error");
	if (done) {
		log_info("namespace %s: %s the ConfigMap " LAUNCHER_CONFIGMAP, place->namespace,
			 place->creating ? "created" : "changed");
		launcher_store_conclude(place);
	} else {
		launcher_store_take_failure(place, response);
	}
}

static void take_configmap(struct place *place, const cJSON *have)
{
	struct launcher_store *store = place->store;
	bool collect = !store->incomplete && store->o.is_whole(store->o.arg);
	_cleanup_json_ cJSON *change = NULL;
	struct err err = { 0 };
	int r = launcher_configmap_change(&place->known, place->namespace, store->o.launchers, have,
					  collect, now_boottime_ns(), &change, &err);

	if (r == 0 && !change) {
		launcher_store_conclude(place);
		return;
	}
	place->creating = !have;
	if (r == 0)
		r = have ? client_merge(store->o.client, change, launcher_store_on_written, place,
					&err) :
			   client_create(store->o.client, change, NULL, launcher_store_on_written,
					 place, &err);
	if (r < 0) {
		launcher_store_take_trouble(place, 0, 0, &err);
		return;
	}
	place->under_way = true;
	store->in_flight++;
}

static void launcher_store_on_read(void *arg, struct client_response *response)
{
	struct place *place = arg;

	place->under_way = false;
	place->store->in_flight--;
	if (response->status == 200 || response->status == 404)
		take_configmap(place, response->object && response->status == 200 ?
					      response->object :
					      NULL);
	else
		launcher_store_take_failure(place, response);
}

/*
 * --- What is due
 * ------------------------------------------------------------------------------------------
 */

static void launcher_store_start(struct place *place)
{
	struct launcher_store *store = place->store;
	struct err err = { 0 };

	if (client_get(store->o.client, resource_find("v1", "ConfigMap"), place->namespace,
		       LAUNCHER_CONFIGMAP, launcher_store_on_read, place, &err) < 0) {
		launcher_store_take_trouble(place, 0, 0, &err);
		return;
	}
	place->due_ns = 0;
	place->under_way = true;
	store->in_flight++;
}

/* Returns whether nothing is left to do: the keys are gone, or the whole namespace is. */
static bool launcher_store_is_done(const struct place *place)
{
	return place->known.empty_ns && !place->under_way && (place->ends || !place->due_ns);
}

/*
 * Begins what is due, and returns the time when the next is; 0 if nothing is, or an answer comes
 * first.
 */
static int64_t start_due(struct launcher_store *store, int64_t now)
{
	const char *key;
	void *value;
	int64_t next = 0;

	strmap_each(&store->places, &key, &value) {
		struct place *place = value;

		if (launcher_store_is_done(place))
			place_free(strmap_remove(&store->places, key));
		else if (place->under_way || !place->due_ns)
			continue;
		else if (place->due_ns > now)
			next = next ? MIN(next, place->due_ns) : place->due_ns;
		else if (store->in_flight < REQUESTS_MAX)
			launcher_store_start(place);
	}
	return next;
}

/* Forgets namespaces without Ray: another replica acts, and removes the keys. */
static void forget_those_over(struct launcher_store *store, int64_t now)
{
	const char *key;
	void *value;

	strmap_each(&store->places, &key, &value) {
		struct place *place = value;

		if (launcher_configmap_is_over(&place->known, now) && !place->under_way)
			place_free(strmap_remove(&store->places, key));
	}
}

static void launcher_store_run(evutil_socket_t, short, void *arg)
{
	struct launcher_store *store = arg;
	int64_t now = now_boottime_ns(), next = now + RECHECK_NS;

	if (store->o.may_write(store->o.arg))
		next = start_due(store, now);
	else
		forget_those_over(store, now);
	if (next)
		timer_after(store->wake, next - now);
}

void launcher_store_begin(struct launcher_store *store)
{
	if (store)
		launcher_store_wake(store);
}

/*
 * --- Life
 * -------------------------------------------------------------------------------------------------
 */

int launcher_store_new(const struct launcher_store_options *options,
		       struct launcher_store **ret_store, struct err *err)
{
	struct launcher_store *store = calloc(1, sizeof(*store));

	if (!store)
		return err_set(err, ENOMEM, "launchers");
	store->o = *options;
	store->wake = evtimer_new(options->base, launcher_store_run, store);
	if (!store->wake) {
		launcher_store_free(store);
		return err_set(err, ENOMEM, "launchers");
	}
	*ret_store = store;
	return 0;
}

void launcher_store_free(struct launcher_store *store)
{
	if (!store)
		return;
	strmap_release(&store->places, place_free);
	event_drop(store->wake);
	free(store);
}
