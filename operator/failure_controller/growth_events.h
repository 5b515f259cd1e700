/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits Events about what sidecars warn of: memory that grows for hours, and requests that no node
 * can have. They are about the RayCluster and the RayJob or RayService that made it. Each container
 * or cluster has such an Event at most every six hours.
 */
#pragma once

#include "operator/cache/informer.h"
#include "operator/failures/growth.h"
#include "operator/failures/infeasible.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/event_recorder.h"

/*
 * clusters has the RayClusters, because an Event needs the uid of its object. emitted belongs to
 * the caller, because pods choose its keys and must not use up the memory of the event recorder.
 */
void growth_events_emit(struct event_recorder *recorder, struct event_filter *emitted,
			const struct informer *clusters, const cJSON *pod,
			const struct growth *growths, size_t n);

/*
 * The same for a request ("": there is none), if memory safety has set what may make it infeasible.
 */
void infeasible_events_emit(struct event_recorder *recorder, struct event_filter *emitted,
			    const struct informer *clusters, const cJSON *pod, const char *request);
