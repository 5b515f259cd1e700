/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of a RayCluster that KubeRay hands on to a batch scheduler (Volcano, YuniKorn, KAI, scheduler-plugins), where
 * it is started with one. Here they have no effect, so such a cluster waits in no queue and starts pod by pod. Kueue's label
 * is not among them: Kueue suspends the cluster by itself.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_SCHEDULING_LABELS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_SCHEDULING_LABELS_H

#include <cjson/cJSON.h>

/* "ray.io/gang-scheduling-enabled, volcano.sh/queue-name", of those that the cluster has; the caller frees it. NULL: none. */
char *scheduling_labels_ignored(const cJSON *cluster);

#endif
