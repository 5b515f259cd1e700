/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of memory that grows for hours as Events of the RayCluster, and of the RayJob or RayService that made it: of each container
 * once in six hours, while it is still time to do something.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_GROWTH_EVENTS_H

#include "operator/cache/informer.h"
#include "operator/failures/growth.h"
#include "operator/kube/client.h"

struct growth_events {
	struct client *client;
	const struct informer *clusters;
	/* Its own: */
	struct strmap told; /* "namespace/pod container" -> int64_t: when */
};

/* Starts with client and clusters set. */
void growth_events_release(struct growth_events *failure_events);

void growth_events_tell(struct growth_events *failure_events, const cJSON *pod, const struct growth *growths, size_t n);

#endif
