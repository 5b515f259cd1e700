/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault tolerance of the GCS, Ray's control store (gcsFaultToleranceOptions, or
 * the annotation ray.io/ft-enabled): its state is kept in Redis, or in a RocksDB on a
 * volume of the head, so that a new head continues with the state of the old one.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/raycluster/names.h"

#define GCS_FT_VOLUME "gcs-storage"
#define GCS_FT_PATH "/data/gcs" /* KubeRay's */

bool gcs_ft_enabled(const cJSON *cluster);
bool gcs_ft_is_rocksdb(const cJSON *cluster);
/* Returns the prefix of the cluster's keys in Redis. */
const char *gcs_ft_storage_namespace(const cJSON *cluster);

/* Adds environment, volumes and annotations of the pod, and params of its `ray start`. */
void gcs_ft_apply(const cJSON *cluster, enum ray_node node, cJSON *pod, cJSON *params);

/*
 * Makes the PersistentVolumeClaim to create for RocksDB, "<cluster>-gcs-pvc"; NULL if the cluster
 * needs none of ours.
 */
cJSON *gcs_ft_claim(const cJSON *cluster);

/*
 * Makes a merge patch that gives an existing claim the owner that deletionPolicy asks for: with
 * Retain the cluster no longer owns it; otherwise it does, unless another object controls the
 * claim or the claim was not made for this cluster. Returns NULL if nothing needs to change. The
 * caller owns it.
 */
cJSON *gcs_ft_claim_owners(const cJSON *cluster, const cJSON *claim);
