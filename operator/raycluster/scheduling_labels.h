/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds labels of a RayCluster that KubeRay passes on to a batch scheduler (Volcano, YuniKorn, KAI,
 * scheduler-plugins), if it was started with a batch scheduler. In this operator they have no
 * effect, so such a cluster waits in no queue and starts pod by pod. Kueue's label is not among
 * them, because Kueue suspends the cluster itself.
 */
#pragma once

#include <cjson/cJSON.h>

/*
 * Lists the ignored labels that the cluster has ("ray.io/gang-scheduling-enabled,
 * volcano.sh/queue-name"); the caller frees it. NULL: none.
 */
char *scheduling_labels_ignored(const cJSON *cluster);
