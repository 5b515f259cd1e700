/* SPDX-License-Identifier: Apache-2.0 */
/* Emits Events about memory that grows for hours. */
#include "operator/failure_controller/growth_events.h"

#include <stdio.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failures/owner.h"
#include "operator/kube/object.h"

/* Emits an Event about an object. Without a uid `kubectl describe` would not show it. */
static void emit_about(struct event_recorder *recorder, const char *kind, const char *name, const char *uid, const cJSON *pod,
		       const struct growth *g)
{
	_cleanup_json_ cJSON *object = object_new("ray.io/v1", kind, json_str(pod, "metadata.namespace"), name);
	cJSON *event;

	json_set_str(json_get(object, "metadata"), "uid", uid);
	event = growth_event(object, pod, g, now_realtime_ns());
	log_info("%s %s/%s: event MemoryGrowing: %s", kind, json_str(pod, "metadata.namespace"), name, json_str(event, "note"));
	event_recorder_emit(recorder, event, EVENT_ONCE);
}

static void emit(struct event_recorder *recorder, const cJSON *cluster, const cJSON *pod, const struct growth *g)
{
	struct owner owner;

	emit_about(recorder, "RayCluster", json_str(cluster, "metadata.name"), json_str(cluster, "metadata.uid"), pod, g);
	if (owner_of_cluster(cluster, &owner) && owner.kind != OWNER_RAY_CLUSTER && *owner.uid)
		emit_about(recorder, owner_kind_name(owner.kind), owner.name, owner.uid, pod, g);
}

void growth_events_emit(struct event_recorder *recorder, struct event_filter *emitted, const struct informer *clusters,
			const cJSON *pod, const struct growth *growths, size_t n)
{
	char cluster_at[512], key[700];
	const cJSON *cluster;

	for (size_t i = 0; i < n && cluster_key(pod, cluster_at, sizeof(cluster_at)); i++) {
		cluster = store_get(informer_store(clusters), cluster_at);
		snprintf(key, sizeof(key), "MemoryGrowing %.253s/%.253s %s", json_str(pod, "metadata.namespace"),
			 json_str(pod, "metadata.name"), growths[i].container);
		if (cluster && event_filter_is_time(emitted, key, now_boottime_ns(), GROWTH_AGAIN_NS))
			emit(recorder, cluster, pod, &growths[i]);
	}
}
