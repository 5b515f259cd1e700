/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits Events about memory that grows for hours: of the RayCluster, and of the RayJob or RayService that made it: of each container
 * once in six hours, while it is still time to do something.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H

#include "operator/cache/informer.h"
#include "operator/failures/growth.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/event_recorder.h"

/*
 * clusters has the RayClusters, for an Event needs the uid of its object. told is the caller's: pods choose the keys, and must
 * not use up the event recorder's own memory.
 */
void growth_events_emit(struct event_recorder *recorder, struct event_filter *told, const struct informer *clusters,
			const cJSON *pod, const struct growth *growths, size_t n);

#endif
