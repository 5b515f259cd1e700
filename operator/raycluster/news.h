/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes Normal Events about the operations on a cluster, with KubeRay's words: one for each object,
 * but only one for all pods of a group that a plan created (or deleted), with their number. Pure.
 */
#pragma once

#include "operator/raycluster/plan.h"

/*
 * Notes an operation that was answered with that status in news, a JSON array, unless people need
 * not know of it.
 */
void news_add(cJSON *news, const struct plan_op *op, int status);

/* Makes the Event of one item. The caller owns it. */
cJSON *news_event(const cJSON *item, const cJSON *cluster, int64_t now_ns);
