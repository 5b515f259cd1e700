/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits Events about RayFailures and their consequences where people look first: on the RayCluster,
 * and on the RayJob or RayService that made it, as `kubectl describe raycluster`, `rayjob`,
 * `rayservice` and `kubectl get events` show them. Each class has at most one Event for an object
 * in some minutes: in a crash loop, or when a thousand pods die at once, the list of RayFailures is
 * the place to look.
 */
#pragma once

#include "operator/failures/incident_plan.h"
#include "operator/kube/event_recorder.h"

struct failure_events {
	struct event_recorder *recorder;
	/*
	 * Returns the watched RayCluster "namespace/name", or NULL. It is not kept after the call.
	 */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	void *arg;
};

/*
 * Emits the Event for a failure with the consequences in telling; failure is the complete object.
 * Returns false if an Event for its class was emitted a short time ago, so that none is emitted
 * now. The Event's name depends only on telling, so a second replica does not write the same Event
 * again.
 */
bool failure_events_tell(const struct failure_events *events, const cJSON *failure,
			 const struct incident_telling *telling);
