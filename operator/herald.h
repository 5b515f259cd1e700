/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of RayFailures, and of what followed from them, where people look first: as Events of the RayCluster, and of the RayJob or RayService that made it, in
 * `kubectl describe raycluster`, `rayjob`, `rayservice` and `kubectl get events`. Of each class and cluster
 * (or RayJob, RayService) one, and the next some minutes later: in a crash loop, or when a thousand pods
 * die at once, the list of RayFailures is the place to look.
 */
#ifndef AFTERGLOW_OPERATOR_HERALD_H
#define AFTERGLOW_OPERATOR_HERALD_H

#include "operator/failures/incident_plan.h"
#include "operator/kube/client.h"
#include "operator/watches.h"

struct herald;

int herald_new(struct client *client, struct watches *watches, struct herald **ret_herald, struct err *err);
void herald_free(struct herald *herald); /* NULL is allowed */

/*
 * Tells of a failure, whole as it was written, with the consequences that telling has. False: not now, for another of its class
 * was told a short time ago. The same telling is one Event, whoever tells it again.
 */
bool herald_tell(struct herald *herald, const cJSON *failure, const struct incident_telling *telling);

#endif
