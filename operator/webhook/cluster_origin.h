/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which tool wrote a RayCluster, because that decides which fields a webhook
 * may set.
 *
 * Tools that compare three ways (kubectl apply, Helm, Argo CD) merge maps by
 * their keys: members that only the live object has stay and are no difference. They
 * compare and replace a list of a custom resource whole; so a value inside
 * workerGroupSpecs, or in the head's containers, is a difference for Argo CD,
 * which compares by itself. kubectl and Helm send the list, and the webhook puts
 * the value back. Server-side apply owns workerGroupSpecs whole (KubeRay's CRD
 * has no list type for it): after a value of ours, the next `kubectl apply
 * --server-side` of the same file would be refused as a conflict.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

enum list_keeper {
	LISTS_FREE, /* fields in lists may be set */
	LISTS_ARGO_CD, /* Argo CD tracks the object */
	LISTS_APPLIED, /* server-side apply owns spec.workerGroupSpecs */
	/*
	 * upgradeStrategy Recreate: values that a writer drops while no webhook runs would restart
	 * all pods
	 */
	LISTS_RECREATE,
};

/* user: the request's userInfo.username, NULL when it is not known. */
enum list_keeper cluster_list_keeper(const cJSON *cluster, const char *user);

/* Returns "because Argo CD compares them", for warnings. */
const char *list_keeper_reason(enum list_keeper keeper);

/*
 * Returns whether another controller than KubeRay runs the cluster (spec.managedBy; Kueue's
 * MultiKueue sends it elsewhere).
 */
bool cluster_runs_elsewhere(const cJSON *spec);

/*
 * Returns whether the cluster cannot get workers that could run tasks: it has no group, or each
 * group is suspended, has no CPUs, may have no pods, or has none while there is no autoscaler.
 */
bool cluster_head_runs_tasks(const cJSON *spec);
