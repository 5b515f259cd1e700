/* SPDX-License-Identifier: Apache-2.0 */
/* A Ray pod from its group's template, as KubeRay would make it, with memory safety and the sidecar. */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_POD_TEMPLATE_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_POD_TEMPLATE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/raycluster/names.h"

struct pod_request {
	const cJSON *cluster;
	enum ray_node node;
	const cJSON *group;          /* headGroupSpec or one of workerGroupSpecs */
	const char *hash;            /* the cluster's upgrade_hash, of who makes many pods: it takes long; NULL: it is made */
	const struct policy *policy;
	const char *policy_origin;   /* as in plan.h */
	const char *store_claim_trouble; /* as in plan.h */
	const char *kernel_log_refused; /* as in plan.h */
	const struct launchers *launchers; /* to mount; NULL: there are none, and without one no sidecar */
};

/* The whole Pod but for metadata.name. What the user should know goes to notes. The cluster must be valid. */
int pod_build(const struct pod_request *req, cJSON **ret_pod, cJSON *notes, struct err *err);

#endif
