/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgradeStrategy Recreate: if the spec asks for pods other than the existing ones, all
 * pods are deleted and replaced. Each pod has a hash of the spec that it was made from.
 * The hash omits fields that only count pods (replicas and their bounds,
 * workersToDelete) or do not concern them (suspend, managedBy, the strategy itself), and
 * tolerations and scheduling gates, which Kueue adds to the spec.
 *
 * The hash has an annotation key of our own and contains the version of the hasher. A
 * pod without such a hash, or with another version, was made by KubeRay or by another
 * version of the operator, and its spec is unknown. So it is adopted with the present
 * spec, as KubeRay adopts pods of its other versions, and only a later change of the
 * spec replaces it.
 *
 * KubeRay compares its own hash on the head alone, unless the head's version of
 * KubeRay is another than its own: then it adopts the head. Our pods name a
 * version that no KubeRay has, so KubeRay adopts them, too.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#define UPGRADE_HASH_ANNOTATION "afterglow.dev/recreate-hash"
#define UPGRADE_HASH_MAX 48

/* Writes "v1-" (the version of the hasher) and the first 40 hex digits of a SHA-256. */
void upgrade_hash(const cJSON *cluster, char ret_hash[static UPGRADE_HASH_MAX]);

bool upgrade_is_recreate(const cJSON *cluster);
/*
 * Returns the kind of object that made the cluster and replaces it as a whole: RayJob, RayService.
 * NULL: a person made it.
 */
const char *upgrade_by_creator(const cJSON *cluster);

/* Returns whether the pod is known to be made from another spec. */
bool upgrade_is_stale(const cJSON *pod, const char *hash);
/*
 * Returns whether this operator, of any version since the hash has its own key, made or adopted the
 * pod.
 */
bool upgrade_is_ours(const cJSON *pod);
/* Returns whether it is unknown from which spec the pod was made. */
bool upgrade_is_unknown(const cJSON *pod);

/*
 * Writes the annotations of a pod that is made from this spec: our hash, and the version that makes
 * KubeRay adopt the pod.
 */
void upgrade_annotate(cJSON *annotations, const char *hash);
/*
 * Makes a merge patch for a pod that is adopted: apiVersion, kind, metadata {namespace, name, uid,
 * annotations}. It keeps the version of a KubeRay that made the pod, because that version belongs
 * to that KubeRay's hash. The caller owns it.
 */
cJSON *upgrade_adoption(const cJSON *pod, const char *hash);
