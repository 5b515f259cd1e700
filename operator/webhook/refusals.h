/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds groups of pods that the API server refuses with the sidecar: a ResourceQuota, a LimitRange,
 * Pod Security or another policy may forbid it. The webhook is asked before those decide, and does
 * not learn their decision. But a pod that was admitted appears in the informer's cache, and a pod
 * that was refused is requested again. So if several pods of a group in a row were requested and
 * none appeared, the next pods of that group get no sidecar. Pure: time is an argument.
 *
 * A request proves nothing, because whoever reaches the port can send one: it counts only while the
 * watched RayCluster shows that its pods are refused (refusals_are_evident).
 *
 * A pod that is refused for another reason (the quota is used up in any case) loses nothing: it is
 * refused again.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/webhook/remembered.h"

/*
 * The number of requests in a row, and the least time between the first and the last, because a
 * cache may lag behind.
 */
#define REFUSALS_TRIES 4
#define REFUSALS_SPAN_NS ((int64_t)5 * 1000000000)
/* Tries in a row are not further apart: KubeRay asks again at the latest after some minutes. */
#define REFUSALS_GAP_NS ((int64_t)900 * 1000000000)
/* After this time the sidecar is tried again. */
#define REFUSALS_HOLD_NS ((int64_t)600 * 1000000000)

/*
 * Returns whether KubeRay says, in the condition ReplicaFailure of the RayCluster, that it cannot
 * create pods, and the cluster has the group (the value of the label ray.io/group). cluster may be
 * NULL.
 */
bool refusals_are_evident(const cJSON *cluster, const char *group);
/* Returns whether the condition says that a quota asks for a CPU limit of the sidecar. */
bool refusals_want_cpu_limit(const cJSON *cluster);

/*
 * Returns whether the next pod of the group should go without the sidecar. groups:
 * "namespace/cluster/group". Note a group, for REFUSALS_GAP_NS, when one of its pods is about to be
 * admitted with the sidecar. Forget it when such a pod is in the cache: the API server accepts
 * them.
 */
bool refusals_hold(const struct remembered *groups, const char *group, int64_t now_ns);
