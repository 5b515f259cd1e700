/* SPDX-License-Identifier: Apache-2.0 */
/* Finds groups of pods that the API server refuses with the sidecar. */
#include "operator/webhook/refusals.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/raycluster/names.h"

/*
 * KubeRay 1.3 to 1.7 (ray-operator/controllers/ray/utils/util.go) write the reasons
 * FailedCreateHeadPod and FailedCreateWorkerPod, and remove the condition after a success.
 */
#define FAILURE_CONDITION "ReplicaFailure"
#define FAILURE_REASON "FailedCreate"

struct refusal {
	unsigned tries; /* since a pod of the group was last seen */
	int64_t first_ns, last_ns;
};

void refusals_release(struct refusals *r)
{
	strmap_release(&r->groups, free);
}

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

/* Drops groups for which nobody has asked lately, so that the map has only current trouble. */
static void refusals_forget_old(struct refusals *r, int64_t now_ns)
{
	const char *group;
	void *value;

	strmap_each(&r->groups, &group, &value)
		if (now_ns - ((struct refusal *)value)->last_ns > REFUSALS_GAP_NS)
			refusals_note_pod(r, group);
}

static struct refusal *refusal_of(struct refusals *r, const char *group, int64_t now_ns)
{
	struct refusal *refusal = strmap_get(&r->groups, group);

	if (refusal)
		return refusal;
	if (r->groups.n >= REFUSALS_GROUPS_MAX)
		refusals_forget_old(r, now_ns);
	refusal = r->groups.n < REFUSALS_GROUPS_MAX ? calloc(1, sizeof(*refusal)) : NULL;
	if (refusal && strmap_put(&r->groups, group, refusal, NULL) < 0)
		free(TAKE_PTR(refusal));
	return refusal;
}

void refusals_note_try(struct refusals *r, const char *group, int64_t now_ns)
{
	struct refusal *refusal = refusal_of(r, group, now_ns);

	if (!refusal)
		return;
	if (refusal->tries == 0 || now_ns - refusal->last_ns > REFUSALS_GAP_NS)
		*refusal = (struct refusal){ .first_ns = now_ns };
	refusal->tries++;
	refusal->last_ns = now_ns;
}

void refusals_note_pod(struct refusals *r, const char *group)
{
	free(strmap_remove(&r->groups, group));
}

bool refusals_hold(const struct refusals *r, const char *group, int64_t now_ns)
{
	const struct refusal *refusal = strmap_get(&r->groups, group);

	return refusal && refusal->tries >= REFUSALS_TRIES && refusal->last_ns - refusal->first_ns >= REFUSALS_SPAN_NS &&
	       now_ns - refusal->last_ns < REFUSALS_HOLD_NS;
}
