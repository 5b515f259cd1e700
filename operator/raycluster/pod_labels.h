/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels by which a RayCluster's pods are found: ray.io/is-ray-node, ray.io/cluster,
 * ray.io/node-type, ray.io/group. They are ours. A template cannot override them, and what somebody
 * takes away or changes later is put back. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_POD_LABELS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_POD_LABELS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Whether that label is one of them. */
bool pod_label_is_ours(const char *name);

/*
 * A patch of the pod, which the cluster owns: apiVersion, kind, metadata {namespace, name, uid,
 * labels} with the labels that have to be put back. NULL: there is nothing to put back, or no
 * memory. Of a worker without ray.io/group nobody knows the group, so that label stays away, and
 * the pod is replaced as one of a group that does not exist.
 */
cJSON *pod_labels_patch(const cJSON *pod, const char *cluster);

#endif
