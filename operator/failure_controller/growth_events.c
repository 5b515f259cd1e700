/* SPDX-License-Identifier: Apache-2.0 */
/* Tells of memory that grows for hours. */
#include "operator/failure_controller/growth_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "operator/failures/owner.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/events.h"
#include "operator/manager/watches.h"
#include "operator/raycluster/names.h"

void growth_events_release(struct growth_events *failure_events)
{
	strmap_release(&failure_events->told, free);
}

static void on_written(void *arg, struct client_response *response)
{
	(void)arg;
	if (response->err.code && strcmp(response->reason, "AlreadyExists") != 0)
		log_warning_limited("an Event was not written: %s", err_text(&response->err));
}

/* Enough of the object for an Event. Without a uid no `kubectl describe` would show it. */
static void tell_of(const struct growth_events *failure_events, const char *kind, const char *name, const char *uid, const cJSON *pod,
		    const struct growth *g)
{
	_cleanup_json_ cJSON *object = object_new("ray.io/v1", kind, json_str(pod, "metadata.namespace"), name);
	_cleanup_json_ cJSON *event = NULL;
	struct err err = { 0 };

	json_set_str(json_get(object, "metadata"), "uid", uid);
	event = growth_event(object, pod, g, now_realtime_ns());
	log_info("%s %s/%s: event MemoryGrowing: %s", kind, json_str(pod, "metadata.namespace"), name, json_str(event, "note"));
	if (client_event_once(failure_events->client, event, on_written, NULL, &err) < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}

static void tell(const struct growth_events *failure_events, const cJSON *cluster, const cJSON *pod, const struct growth *g)
{
	struct owner owner;

	tell_of(failure_events, "RayCluster", json_str(cluster, "metadata.name"), json_str(cluster, "metadata.uid"), pod, g);
	if (owner_of_cluster(cluster, &owner) && owner.kind != OWNER_RAY_CLUSTER && *owner.uid)
		tell_of(failure_events, owner_kind_name(owner.kind), owner.name, owner.uid, pod, g);
}

void growth_events_tell(struct growth_events *failure_events, const cJSON *pod, const struct growth *growths, size_t n)
{
	char cluster_at[512], key[700];
	const cJSON *cluster;

	for (size_t i = 0; i < n && cluster_key(pod, cluster_at, sizeof(cluster_at)); i++) {
		cluster = store_get(informer_store(failure_events->clusters), cluster_at);
		snprintf(key, sizeof(key), "%.253s/%.253s %s", json_str(pod, "metadata.namespace"), json_str(pod, "metadata.name"),
			 growths[i].container);
		if (!cluster || !event_filter_is_time(&failure_events->told, key, now_boottime_ns(), GROWTH_AGAIN_NS))
			continue;
		tell(failure_events, cluster, pod, &growths[i]);
	}
}
