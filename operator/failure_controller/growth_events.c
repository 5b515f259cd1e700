/* SPDX-License-Identifier: Apache-2.0 */
/* Emits Events about what sidecars warn of. */
#include "operator/failure_controller/growth_events.h"

#include <stdio.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failures/owner.h"
#include "operator/kube/object.h"

/* What an Event is about: memory that grows in a pod, or else a request. */
struct warning {
	const cJSON *cluster, *pod;
	const struct growth *growth;
	const char *request;
};

/* Emits an Event about an object. Without a uid `kubectl describe` would not show it. */
static void warning_emit_about(struct event_recorder *recorder, const char *kind, const char *name,
			       const char *uid, const struct warning *w)
{
	const char *namespace = json_str(w->cluster, "metadata.namespace");
	_cleanup_json_ cJSON *object = object_new("ray.io/v1", kind, namespace, name);

	json_set_str(json_get(object, "metadata"), "uid", uid);
	cJSON *event = w->growth ?
			       growth_event(object, w->pod, w->growth, now_realtime_ns()) :
			       infeasible_event(object, w->cluster, w->request, now_realtime_ns());
	if (!event)
		return;
	log_info("%s %s/%s: event %s: %s", kind, namespace, name, json_str(event, "reason"),
		 json_str(event, "note"));
	event_recorder_emit(recorder, event, EVENT_ONCE);
}

/* Emits it about the cluster, and about the RayJob or RayService that made it. */
static void warning_emit(struct event_recorder *recorder, const struct warning *w)
{
	struct owner owner;

	warning_emit_about(recorder, "RayCluster", json_str(w->cluster, "metadata.name"),
			   json_str(w->cluster, "metadata.uid"), w);
	if (owner_of_cluster(w->cluster, &owner) && owner.kind != OWNER_RAY_CLUSTER && *owner.uid)
		warning_emit_about(recorder, owner_kind_name(owner.kind), owner.name, owner.uid, w);
}

void infeasible_events_emit(struct event_recorder *recorder, struct event_filter *emitted,
			    const struct informer *clusters, const cJSON *pod, const char *request)
{
	_cleanup_json_ cJSON *event = NULL;
	char cluster_at[512], key[600];

	if (!request[0] || !cluster_key(pod, cluster_at, sizeof(cluster_at)))
		return;
	const cJSON *cluster = store_get(informer_store(clusters), cluster_at);
	snprintf(key, sizeof(key), "%s RequestInfeasible", cluster_at);
	/* A request that has nothing to do with us does not use up the Event of one that has. */
	event = cluster ? infeasible_event(cluster, cluster, request, now_realtime_ns()) : NULL;
	if (event && event_filter_is_time(emitted, key, now_boottime_ns(), GROWTH_AGAIN_NS))
		warning_emit(recorder, &(struct warning){ .cluster = cluster, .request = request });
}

void growth_events_emit(struct event_recorder *recorder, struct event_filter *emitted,
			const struct informer *clusters, const cJSON *pod,
			const struct growth *growths, size_t n)
{
	char cluster_at[512], key[700];
	const cJSON *cluster;

	for (size_t i = 0; i < n && cluster_key(pod, cluster_at, sizeof(cluster_at)); i++) {
		cluster = store_get(informer_store(clusters), cluster_at);
		snprintf(key, sizeof(key), "%.253s/%.253s MemoryGrowing %s",
			 json_str(pod, "metadata.namespace"), json_str(pod, "metadata.name"),
			 growths[i].container);
		if (cluster &&
		    event_filter_is_time(emitted, key, now_boottime_ns(), GROWTH_AGAIN_NS))
			warning_emit(recorder, &(struct warning){ .cluster = cluster,
								  .pod = pod,
								  .growth = &growths[i] });
	}
}
