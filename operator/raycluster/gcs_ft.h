/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault tolerance of the GCS, Ray's control store (gcsFaultToleranceOptions, or
 * the annotation ray.io/ft-enabled): its state is kept in Redis, or in a RocksDB
 * on a volume of the head's, so that a new head goes on where the old one died.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_GCS_FT_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_GCS_FT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/raycluster/names.h"

#define GCS_FT_VOLUME "gcs-storage"
#define GCS_FT_PATH "/data/gcs" /* KubeRay's */

bool gcs_ft_enabled(const cJSON *cluster);
bool gcs_ft_is_rocksdb(const cJSON *cluster);
/* What its keys in Redis begin with. */
const char *gcs_ft_storage_namespace(const cJSON *cluster);

/* Environment, volumes and annotations of the pod, and params of its `ray start`. */
void gcs_ft_apply(const cJSON *cluster, enum ray_node node, cJSON *pod, cJSON *params);

/* The PersistentVolumeClaim to create for RocksDB, "<cluster>-gcs-pvc"; NULL when none of ours is needed. */
cJSON *gcs_ft_claim(const cJSON *cluster);

/*
 * For a merge patch that gives the claim there is the owner that deletionPolicy asks for: with Retain the cluster owns it
 * no more, else it does, unless another controls it. NULL: it has what it should have. The caller owns it.
 */
cJSON *gcs_ft_claim_owners(const cJSON *cluster, const cJSON *claim);

#endif
