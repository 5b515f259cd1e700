/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what the sidecars of ended pods say of memory. */
#include "operator/failure_controller/memory_keeper.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/macros.h"
#include "lib/memory_needs.h"
#include "operator/failures/kept_memory.h"

#define TOGETHER_MS 2000
#define NEXT_MS 100 /* from one namespace to the next */
#define AGAIN_MS 10000
#define TRIES_MAX 5

struct memory_keeper {
	struct memory_keeper_options o;
	struct event *timer;
	cJSON *waiting; /* namespace -> clusters */
	/* the clusters that are being written, under the name of their namespace; NULL: none are */
	cJSON *written;
	unsigned tries;
	bool under_way, creating;
	bool refused; /* the last write, and it has been logged */
};

static void memory_keeper_wake(struct memory_keeper *keeper, int ms)
{
	if (!keeper->under_way && !event_pending(keeper->timer, EV_TIMEOUT, NULL))
		event_add(keeper->timer, &(struct timeval){ ms / 1000, ms % 1000 * 1000 });
}

void memory_keeper_see(struct memory_keeper *keeper, const cJSON *before, const cJSON *after)
{
	const char *namespace = json_str(after, "metadata.namespace");

	if (!keeper || !namespace || !before || kept_memory_message(before) ||
	    !kept_memory_message(after) || !keeper->o.may_write(keeper->o.arg))
		return;
	if (!cJSON_GetObjectItemCaseSensitive(keeper->waiting, namespace) &&
	    cJSON_GetArraySize(keeper->waiting) >= MEMORY_KEEPER_NAMESPACES_MAX) {
		log_warning_limited("namespace %s: what tasks needed is not kept: "
				    "too many other namespaces wait",
				    namespace);
		return;
	}
	cJSON *clusters = json_object_at(keeper->waiting, namespace);
	if (clusters && kept_memory_add(clusters, after))
		memory_keeper_wake(keeper, TOGETHER_MS);
	else if (clusters && !clusters->child)
		cJSON_DeleteItemFromObjectCaseSensitive(keeper->waiting, namespace);
}

/*
 * What is wrong with a ConfigMap that a tenant has made stays so, and must not hold up the other
 * namespaces.
 */
static bool memory_keeper_passes(const struct client_response *response)
{
	return response->status >= 500 || IS_ONE_OF(response->status, 409, 429) ||
	       (response->status == 0 && !IS_ONE_OF(response->err.code, EFBIG, E2BIG, EPROTO));
}

/* An older chart does not give the right: then each end of a pod would be a log line. */
static void memory_keeper_tell(struct memory_keeper *keeper, const struct client_response *response)
{
	if (!keeper->refused)
		log_warning_limited(
			"namespace %s: what tasks needed is not kept in ConfigMap " KEPT_MEMORY_CONFIGMAP
			": %s%s",
			keeper->written->string, err_text(&response->err),
			response->status == 403 ? "; not logged again until one is written" : "");
	keeper->refused = response->status == 403;
}

/*
 * Goes on with the next namespace, or with the same one after a failure that may pass by itself.
 * response: NULL after a success.
 */
static void memory_keeper_conclude(struct memory_keeper *keeper,
				   const struct client_response *response)
{
	bool passes = response && memory_keeper_passes(response) && keeper->tries < TRIES_MAX;

	if (!response)
		keeper->refused = false;
	else if (!passes && !client_namespace_ends(response))
		memory_keeper_tell(keeper, response);
	keeper->under_way = false;
	if (!passes) {
		cJSON_Delete(TAKE_PTR(keeper->written));
		keeper->tries = 0;
	}
	if (keeper->written || keeper->waiting->child)
		memory_keeper_wake(keeper, passes && response->status != 409 ? AGAIN_MS : NEXT_MS);
}

static void memory_keeper_on_written(void *arg, struct client_response *response)
{
	struct memory_keeper *keeper = arg;
	bool done = response->status / 100 == 2;

	metrics_add(keeper->o.metrics, METRIC_OPERATIONS, 1,
		    "operation=\"%s\",kind=\"ConfigMap\",result=\"%s\"",
		    keeper->creating ? "create" : "merge", done ? "ok" : "error");
	/* If it were written twice, it would count twice. */
	if (response->maybe_done)
		keeper->tries = TRIES_MAX;
	memory_keeper_conclude(keeper, done ? NULL : response);
}

static void memory_keeper_on_read(void *arg, struct client_response *response)
{
	struct memory_keeper *keeper = arg;
	const cJSON *have = response->status == 200 ? response->object : NULL;
	_cleanup_json_ cJSON *change =
		kept_memory_change(keeper->written->string, have, keeper->written);
	int r = -EPROTO;

	keeper->creating = !have;
	if (!change)
		err_set(&response->err, EPROTO, "others have written into it");
	else if (have)
		r = client_merge(keeper->o.client, change, memory_keeper_on_written, keeper,
				 &response->err);
	else if (response->status == 404)
		r = client_create(keeper->o.client, change, NULL, memory_keeper_on_written, keeper,
				  &response->err);
	if (r < 0)
		memory_keeper_conclude(keeper, response);
}

static void memory_keeper_run(evutil_socket_t, short, void *arg)
{
	struct memory_keeper *keeper = arg;
	struct client_response failed = { 0 };

	if (!keeper->o.may_write(keeper->o.arg)) {
		cJSON_Delete(TAKE_PTR(keeper->written));
		while (keeper->waiting->child)
			cJSON_Delete(cJSON_DetachItemViaPointer(keeper->waiting,
								keeper->waiting->child));
	} else if (!keeper->written) {
		keeper->written =
			cJSON_DetachItemViaPointer(keeper->waiting, keeper->waiting->child);
	}
	if (!keeper->written)
		return;
	keeper->tries++;
	keeper->under_way = true;
	if (client_get(keeper->o.client, resource_find("v1", "ConfigMap"), keeper->written->string,
		       KEPT_MEMORY_CONFIGMAP, memory_keeper_on_read, keeper, &failed.err) < 0)
		memory_keeper_conclude(keeper, &failed);
}

int memory_keeper_new(const struct memory_keeper_options *options,
		      struct memory_keeper **ret_keeper, struct err *err)
{
	struct memory_keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return err_set(err, ENOMEM, "memory keeper");
	keeper->o = *options;
	keeper->waiting = cJSON_CreateObject();
	keeper->timer = evtimer_new(options->base, memory_keeper_run, keeper);
	if (!keeper->timer || !keeper->waiting) {
		memory_keeper_free(keeper);
		return err_set(err, ENOMEM, "memory keeper");
	}
	*ret_keeper = keeper;
	return 0;
}

void memory_keeper_free(struct memory_keeper *keeper)
{
	if (!keeper)
		return;
	cJSON_Delete(keeper->waiting);
	cJSON_Delete(keeper->written);
	event_drop(keeper->timer);
	free(keeper);
}
