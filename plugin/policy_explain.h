/* SPDX-License-Identifier: Apache-2.0 */
/* Explains which policy or chart value decided each setting of a Ray pod. Pure. */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/*
 * Objects in their present state. Each except pod may be NULL: it does not exist, or the user has
 * no right to read it.
 */
struct policy_facts {
	const cJSON *pod;
	const cJSON *cluster;          /* its RayCluster */
	const cJSON *policies;         /* a List of the RayPolicies of its namespace */
	const cJSON *cluster_policies; /* a List of the ClusterRayPolicies */
};

/* Appends each setting with its origin, and then the policies that the operator applied. */
void policy_explain(const struct policy_facts *facts, struct strbuf *out);

/* Returns the settings as {settings: [{setting, value, decidedBy}]}, which the caller owns. */
cJSON *policy_explain_json(const struct policy_facts *facts);
