/* SPDX-License-Identifier: Apache-2.0 */
/* Finds groups of pods that the API server refuses with the sidecar. */
#include "operator/webhook/refusals.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "operator/raycluster/names.h"

static bool has_group(const cJSON *cluster, const char *group)
{
	return strcmp(group, HEAD_GROUP_NAME) == 0 ||
	       json_find(json_get(cluster, "spec.workerGroupSpecs"), "groupName", group);
}

/*
 * KubeRay 1.3 to 1.7 (ray-operator/controllers/ray/utils/util.go) write the reasons
 * FailedCreateHeadPod and FailedCreateWorkerPod, and remove the condition after a success.
 */
static const cJSON *refusal_of(const cJSON *cluster)
{
	return json_find(json_get(cluster, "status.conditions"), "type", "ReplicaFailure");
}

bool refusals_are_evident(const cJSON *cluster, const char *group)
{
	return json_is(refusal_of(cluster), "status", "True") && has_group(cluster, group) &&
	       text_begins_with(json_str(refusal_of(cluster), "reason"), "FailedCreate");
}

/* In the words of Kubernetes (pkg/quota/v1/evaluator/core/pods.go), which KubeRay repeats. */
bool refusals_want_cpu_limit(const cJSON *cluster)
{
	return strstr(json_str_or(refusal_of(cluster), "message", ""),
		      "limits.cpu for: " SIDECAR_CONTAINER);
}

bool refusals_hold(const struct remembered *groups, const char *group, int64_t now_ns)
{
	const struct remembered_name *tries =
		remembered_get(groups, group, REFUSALS_HOLD_NS, now_ns);

	return tries && tries->times >= REFUSALS_TRIES &&
	       tries->last_ns - tries->first_ns >= REFUSALS_SPAN_NS;
}
