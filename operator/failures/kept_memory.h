/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what the tasks of a RayCluster have needed, for when its pods are gone: in one ConfigMap of
 * the namespace, whose key is the cluster's name. A value is
 *
 *	{"owner": "RayJob/train", "endedAt": of the last pod, "groups": [{"group": "small",
 *	"needs": a sum (lib/memory_needs.h)}]}
 *
 * Pods and ConfigMaps are their tenant's: what has another form is left out. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Clusters of a namespace, and bytes of all of them. The clusters that ended first are removed
 * first.
 */
#define KEPT_MEMORY_CLUSTERS_MAX 32
#define KEPT_MEMORY_MAX ((size_t)512 << 10)
#define KEPT_MEMORY_CLUSTER_MAX ((size_t)96 << 10) /* a longer value counts as none */
#define KEPT_MEMORY_GROUPS_MAX 8 /* of a cluster; further ones are left out */

/*
 * Returns the message that the pod's sidecar left at its end, owned by pod; NULL: it has not ended,
 * or said nothing of memory.
 */
const char *kept_memory_message(const cJSON *pod);

/*
 * Adds the pod, whose sidecar has ended, to clusters, an object by the cluster's name. Returns
 * false if there is nothing to add, or no room for a further cluster.
 */
bool kept_memory_add(cJSON *clusters, const cJSON *pod);

/*
 * Returns what to write so that the ConfigMap has the clusters, too: a whole object if have is
 * NULL, otherwise a merge patch. The caller owns it. NULL: others have written many more keys into
 * it, or there is no memory.
 */
cJSON *kept_memory_change(const char *namespace, const cJSON *have, const cJSON *clusters);
