/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits Events about memory that grows for hours. They are about the RayCluster and the RayJob or
 * RayService that made it. Each container has such an Event at most every six hours, while there is
 * still time to do something.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H

#include "operator/cache/informer.h"
#include "operator/failures/growth.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/event_recorder.h"

/*
 * clusters has the RayClusters, because an Event needs the uid of its object. emitted belongs to
 * the caller, because pods choose its keys and must not use up the memory of the event recorder.
 */
void growth_events_emit(struct event_recorder *recorder, struct event_filter *emitted, const struct informer *clusters,
			const cJSON *pod, const struct growth *growths, size_t n);

#endif
