/* SPDX-License-Identifier: Apache-2.0 */
/* Who decided each setting of a Ray pod, from the pod and the policies as they are now. Pure. */
#ifndef AFTERGLOW_PLUGIN_POLICY_EXPLAIN_H
#define AFTERGLOW_PLUGIN_POLICY_EXPLAIN_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/* Each but pod may be NULL: it is not there, or we may not read it. */
struct policy_facts {
	const cJSON *pod;
	const cJSON *cluster;          /* its RayCluster */
	const cJSON *policies;         /* a list of the RayPolicies of its namespace */
	const cJSON *cluster_policies; /* a list of the ClusterRayPolicies */
};

void policy_explain(const struct policy_facts *facts, struct strbuf *out);

#endif
