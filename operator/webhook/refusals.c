/* SPDX-License-Identifier: Apache-2.0 */
/* Finds groups of pods that the API server refuses with the sidecar. */
#include "operator/webhook/refusals.h"

#include <string.h>

#include "lib/json.h"
#include "operator/raycluster/names.h"

/*
 * KubeRay 1.3 to 1.7 (ray-operator/controllers/ray/utils/util.go) write the reasons
 * FailedCreateHeadPod and FailedCreateWorkerPod, and remove the condition after a success.
 */
#define FAILURE_CONDITION "ReplicaFailure"
#define FAILURE_REASON "FailedCreate"

static bool has_group(const cJSON *cluster, const char *group)
{
	return strcmp(group, HEAD_GROUP_NAME) == 0 ||
	       json_find(json_get(cluster, "spec.workerGroupSpecs"), "groupName", group);
}

bool refusals_are_evident(const cJSON *cluster, const char *group)
{
	const cJSON *condition =
		json_find(json_get(cluster, "status.conditions"), "type", FAILURE_CONDITION);
	const char *reason = json_str(condition, "reason");

	return json_is(condition, "status", "True") && reason &&
	       strncmp(reason, FAILURE_REASON, strlen(FAILURE_REASON)) == 0 &&
	       has_group(cluster, group);
}

void refusals_note_try(struct remembered *groups, const char *group, int64_t now_ns)
{
	remembered_note(groups, group, REFUSALS_GAP_NS, now_ns);
}

void refusals_note_pod(struct remembered *groups, const char *group)
{
	remembered_forget(groups, group);
}

bool refusals_hold(const struct remembered *groups, const char *group, int64_t now_ns)
{
	const struct remembered_name *tries =
		remembered_get(groups, group, REFUSALS_HOLD_NS, now_ns);

	return tries && tries->times >= REFUSALS_TRIES &&
	       tries->last_ns - tries->first_ns >= REFUSALS_SPAN_NS;
}
