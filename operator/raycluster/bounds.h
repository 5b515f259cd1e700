/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks how large a RayCluster is. A tenant's RayCluster must not keep the operator from serving
 * others, so the checks here bound the cost of planning. The CRD has the same bounds, but KubeRay's
 * CRD may be installed in its place. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* spec.workerGroupSpecs: a plan builds a pod of each. */
#define BOUND_GROUPS 500
/* numOfHosts: the largest TPU slice has 2,240, and the hosts of a replica are made in one plan. */
#define BOUND_HOSTS 4096
/* The most pods of all groups together; Kubernetes is tested with 5,000 nodes. */
#define BOUND_PODS 20000
/*
 * The most labels, annotations, rayStartParams or resources, and items of environments and volumes.
 */
#define BOUND_MEMBERS 1000
/* scaleStrategy.workersToDelete */
#define BOUND_TO_DELETE 20000
/*
 * JSON values of the spec, of which a plan has two or three copies: 16 plans of the widest clusters
 * are carried out at a time, and hold 110 MiB. The largest specs that we know of have 20,000.
 */
#define BOUND_VALUES 50000
/*
 * Pods with the cluster's label, including those that others made and labelled. With more of them,
 * no plan is made.
 */
#define BOUND_LABELLED ((size_t)2 * BOUND_PODS)

/*
 * Returns whether the spec is within the bounds; if not, notes name each field and its limit
 * (NOTE_SPEC_VALID).
 */
bool bounds_check(const cJSON *cluster, cJSON *notes);
