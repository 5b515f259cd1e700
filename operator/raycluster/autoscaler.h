/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ray's in-tree autoscaler (enableInTreeAutoscaling): a container beside the
 * head that changes the RayCluster's replicas and workersToDelete by itself,
 * and the rights it needs for that.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/raycluster/names.h"

#define AUTOSCALER_CONTAINER "autoscaler"

bool autoscaler_enabled(const cJSON *cluster);
/* autoscalerOptions.version is v2: pods are never restarted in place. */
bool autoscaler_is_v2(const cJSON *cluster);

/*
 * Changes the pod of a head or worker and the params of its `ray start`: restart policy,
 * environment; the head gets the container.
 */
void autoscaler_apply(const cJSON *cluster, enum ray_node node, const struct policy *policy,
		      cJSON *pod_spec, cJSON *params);

/*
 * Make the objects that the autoscaler needs to act, all of one name: its ServiceAccount (NULL if
 * the template names one), its Role, and the RoleBinding of both.
 */
cJSON *autoscaler_account(const cJSON *cluster);
cJSON *autoscaler_role(const cJSON *cluster);
cJSON *autoscaler_binding(const cJSON *cluster);
