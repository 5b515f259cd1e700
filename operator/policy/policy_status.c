/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the status of a RayPolicy or ClusterRayPolicy. */
#include "operator/policy/policy_status.h"

#include <stdio.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/strbuf.h"
#include "operator/kube/object.h"

#define MESSAGE_MAX 2048

static void add_condition(cJSON *conditions, const struct policy_object *o, const char *type,
			  bool status, const char *reason, const char *message,
			  const cJSON *old_status, int64_t now_ns)
{
	json_append(conditions, object_condition_new(old_status, type, status, reason, message,
						     o->generation, now_ns));
}

static void add_accepted(cJSON *conditions, const struct policy_object *o,
			 const struct policy_tally *tally, const cJSON *old_status, int64_t now_ns)
{
	bool accepted = !o->trouble.code && !tally->too_many;
	char text[MESSAGE_MAX];

	if (o->trouble.code)
		snprintf(text, sizeof(text), "%s; this policy has no effect", o->trouble.text);
	else if (tally->too_many)
		snprintf(text, sizeof(text),
			 "only the oldest %d %s count; this policy has no effect",
			 POLICY_OBJECTS_MAX,
			 o->is_cluster_wide ? "ClusterRayPolicies" : "RayPolicies of a namespace");
	else
		snprintf(text, sizeof(text), "new pods get its settings%s%s",
			 *o->ignored ? "; this operator does not know " : "", o->ignored);
	add_condition(conditions, o, "Accepted", accepted,
		      o->trouble.code ? "Invalid" :
		      tally->too_many ? "TooMany" :
					"Accepted",
		      text, old_status, now_ns);
}

static void add_conflicted(cJSON *conditions, const struct policy_object *o,
			   const struct policy_tally *tally, const cJSON *old_status,
			   int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(MESSAGE_MAX);
	const char *reason = "NoConflict";

	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++) {
		const struct policy_object *winner = tally->losses[b].winner;

		if (!winner)
			continue;
		if (!text.len)
			reason = tally->losses[b].locked ? "Locked" : "Overlap";
		strbuf_addf(&text, "%s%s/%s %s %s", text.len ? "; " : "",
			    policy_object_kind(winner), winner->name,
			    tally->losses[b].locked ? "locks" : "is older and decides",
			    policy_block_name(b));
	}
	add_condition(conditions, o, "Conflicted", text.len > 0, reason,
		      text.len ? strbuf_str(&text) : "no other policy overrides it", old_status,
		      now_ns);
}

cJSON *policy_status(const struct policy_object *o, const struct policy_tally *tally,
		     const cJSON *old_status, int64_t now_ns)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *status = cJSON_CreateObject();

	json_set_int(status, "observedGeneration", o->generation);
	json_set_int(status, "clusters", (int64_t)tally->clusters);
	json_set_int(status, "pods", (int64_t)tally->pods);
	cJSON *conditions = json_array_at(status, "conditions");
	add_accepted(conditions, o, tally, old_status, now_ns);
	add_conflicted(conditions, o, tally, old_status, now_ns);
	return oom_count() == lost ? TAKE_PTR(status) : NULL;
}

enum policy_status_change policy_status_compare(const cJSON *old_status, const cJSON *status)
{
	static const char *const words[] = { "observedGeneration", "conditions" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!cJSON_Compare(json_get(old_status, words[i]), json_get(status, words[i]),
				   true))
			return POLICY_STATUS_WORDS;
	return cJSON_Compare(old_status, status, true) ? POLICY_STATUS_SAME : POLICY_STATUS_COUNTS;
}
