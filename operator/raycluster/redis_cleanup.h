/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes the data of a cluster with its GCS in Redis when the cluster is deleted. As with KubeRay,
 * a Job does this, and a finalizer keeps the RayCluster until the Job has ended. plan_farewell.c
 * decides when.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/err.h"
#include "operator/policy/policy.h"

#define REDIS_CLEANUP_FINALIZER "ray.io/gcs-ft-redis-cleanup-finalizer"
/* An annotation of the cluster: with "false" its data stay in Redis. */
#define REDIS_CLEANUP_ANNOTATION "afterglow.dev/redis-cleanup"
#define REDIS_CLEANUP_NAME_MAX 64

/* Returns whether Redis is to be cleaned when the cluster goes. */
bool redis_cleanup_wanted(const cJSON *cluster, const struct policy *policy);
/* Returns whether the finalizer is there. */
bool redis_cleanup_is_held(const cJSON *cluster);

/*
 * Makes the body of a merge patch: apiVersion, kind, metadata {namespace, name, resourceVersion,
 * finalizers} with or without our finalizer. The server refuses it if the cluster has changed
 * meanwhile. The caller owns it.
 */
cJSON *redis_cleanup_finalizers(const cJSON *cluster, bool with);

/*
 * Writes the Job's name, which differs from the name for each other cluster, even an earlier
 * cluster of the same name.
 */
void redis_cleanup_name(const cJSON *cluster, char ret_name[static REDIS_CLEANUP_NAME_MAX]);

/*
 * Makes the batch/v1 Job from the head's template: its image, account, volumes and environment,
 * without the sidecar. It has no owner, because the garbage collector would delete it while it
 * works (--cascade=foreground); it removes itself.
 */
int redis_cleanup_job(const cJSON *cluster, const struct policy *policy, cJSON **ret_job,
		      struct err *err);
