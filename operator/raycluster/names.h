/* SPDX-License-Identifier: Apache-2.0 */
/* Names and groups of a RayCluster, as KubeRay's tools expect them. */
#pragma once

#include <cjson/cJSON.h>

#include "operator/policy/policy.h"

#define HEAD_GROUP_NAME "headgroup"
#define HEAD_GCS_PORT "6379"

enum ray_node { RAY_HEAD, RAY_WORKER };

/* Returns "head" or "worker", the value of the label ray.io/node-type. */
const char *ray_node_name(enum ray_node node);

/* HEAD_GROUP_NAME, or the worker group's groupName ("" when it has none). */
const char *group_name(enum ray_node node, const cJSON *group);

/*
 * A pod's name as generateName would shape it: the prefix (at most 50 bytes,
 * lower case) and 5 characters. These are a hash of the cluster's uid, the group,
 * a seed and n. The seed is random for each plan, so the name of a pod that died or was
 * deleted is never used again: workersToDelete and Ray's autoscaler, which takes the
 * name for the node's, rely on that.
 */
#define POD_NAME_MAX 64
void pod_name(const cJSON *cluster, enum ray_node node, const char *group, const char *seed,
	      unsigned n, char ret_name[static POD_NAME_MAX]);

/*
 * Writes the name of an object that is named after the cluster, as KubeRay cuts it:
 * the last 50 bytes, and a letter first. Returns buf.
 */
#define CUT_NAME_MAX 51
const char *cut_name(const char *name, char buf[static CUT_NAME_MAX]);

/*
 * The head service's name: its own or "<cluster>-head-svc". The caller frees it; returns NULL if
 * there is no memory.
 */
char *head_service_name(const cJSON *cluster);

/*
 * The workers' service: "<cluster>-headless". The caller frees it; returns NULL if there is no
 * memory.
 */
char *headless_service_name(const cJSON *cluster);

/* "<service>.<namespace>.svc.<domain>". The caller frees it; returns NULL if there is no memory. */
char *head_fqdn(const cJSON *cluster, const struct policy *policy);

/* Returns the head's GCS port: rayStartParams.port or 6379. Owned by cluster. */
const char *head_gcs_port(const cJSON *cluster);

/* Makes an owner reference to the cluster: controller, blocking its deletion in the foreground. */
cJSON *owner_references(const cJSON *cluster);
