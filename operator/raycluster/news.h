/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was done for a cluster and went well, for people: one Normal Event for each object, with KubeRay's words; but
 * all pods of a group that were made (or deleted) by one plan are one Event, with their number. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_NEWS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_NEWS_H

#include "operator/raycluster/plan.h"

/* Takes note of an operation that was answered with that status. news is a JSON array; what is no news is left out. */
void news_add(cJSON *news, const struct plan_op *op, int status);

/* The Event of one item. The caller owns it. */
cJSON *news_event(const cJSON *item, const cJSON *cluster, int64_t now_ns);

#endif
