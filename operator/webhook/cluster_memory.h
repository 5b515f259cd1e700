/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets the values of memory safety in a RayCluster beside KubeRay, by the rules of
 * cluster_admission.h: makes a plan for each group, and then a changed copy if the plan
 * changes anything.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"
#include "operator/policy/policy.h"
#include "operator/webhook/cluster_origin.h"

/*
 * old is NULL on CREATE. The modes decide what a group without pods gets; what a group with pods
 * has keeps its place whatever they are. *ret_object is untouched if nothing changes. Returns 0 or
 * -ENOMEM; cJSON's losses are counted by oom.h.
 */
int cluster_memory_set(const cJSON *old, const cJSON *object, enum list_keeper keeper,
		       const struct policy *policy, struct memory_modes modes, cJSON **ret_object,
		       struct err *err);
