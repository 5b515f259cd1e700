/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of memory that grows for hours as Events of the RayCluster, and of the RayJob or RayService that made it: of each container
 * once in six hours, while it is still time to do something.
 */
#ifndef AFTERGLOW_OPERATOR_GROWTH_HERALD_H
#define AFTERGLOW_OPERATOR_GROWTH_HERALD_H

#include "operator/failures/growth.h"
#include "operator/kube/client.h"
#include "operator/kube/informer.h"

struct growth_herald {
	struct client *client;
	const struct informer *clusters;
	/* Its own: */
	struct strmap told; /* "namespace/pod container" -> int64_t: when */
};

/* Starts with client and clusters set. */
void growth_herald_release(struct growth_herald *herald);

void growth_herald_tell(struct growth_herald *herald, const cJSON *pod, const struct growth *growths, size_t n);

#endif
