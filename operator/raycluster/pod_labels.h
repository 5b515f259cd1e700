/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels by which a RayCluster's pods are found: ray.io/is-ray-node, ray.io/cluster,
 * ray.io/node-type, ray.io/group. They belong to the operator: a template cannot override them, and
 * the operator restores labels that somebody removes or changes. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Returns whether that label is one of them. */
bool pod_label_is_ours(const char *name);

/*
 * Makes a patch of the pod, which the cluster owns: apiVersion, kind, metadata {namespace, name,
 * uid, labels} with the labels to restore. Returns NULL if no label must be restored, or there is
 * no memory. If a worker has lost ray.io/group, its group is unknown: so that label is not
 * restored, and the pod is replaced like a pod of a group that does not exist.
 */
cJSON *pod_labels_patch(const cJSON *pod, const char *cluster);
