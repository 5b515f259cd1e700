/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgradeStrategy Recreate: when the spec asks for other pods than there are,
 * all are deleted and made anew. Each pod carries a hash of the spec that it was
 * made from; what only counts pods (replicas and their bounds, workersToDelete)
 * or says nothing of them (suspend, managedBy, the strategy itself) is left out.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_UPGRADE_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_UPGRADE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#define UPGRADE_HASH_ANNOTATION "ray.io/upgrade-strategy-recreate-hash"
#define UPGRADE_HASH_MAX 41

/* Hex digits of SHA-1's length, of a SHA-256. */
void upgrade_hash(const cJSON *cluster, char ret_hash[static UPGRADE_HASH_MAX]);

bool upgrade_is_recreate(const cJSON *cluster);

/* Whether the pod was made from another spec. A pod without a hash was not. */
bool upgrade_is_stale(const cJSON *pod, const char *hash);

#endif
