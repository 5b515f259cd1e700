/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a Ray pod from its group's template, as KubeRay would make it, with memory safety and the
 * sidecar.
 */
#pragma once

#include <cjson/cJSON.h>

#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/own_sizing.h"

struct pod_request {
	const cJSON *cluster;
	enum ray_node node;
	const cJSON *group; /* headGroupSpec or one of workerGroupSpecs */
	/*
	 * the cluster's upgrade_hash, from a caller that makes many pods; NULL: it is computed,
	 * which takes long
	 */
	const char *hash;
	const struct resized_groups *resized; /* as with hash, NULL: it is computed */
	const struct policy *policy;
	const char *policy_origin; /* as in plan.h */
	const char *store_claim_trouble; /* as in plan.h */
	const char *kernel_log_refused; /* as in plan.h */
	/* the launchers to mount; NULL: none, and then the pod gets no sidecar */
	const struct launchers *launchers;
};

/*
 * Makes the whole Pod except for metadata.name, and notes for the user. The cluster must be valid.
 */
int pod_build(const struct pod_request *req, cJSON **ret_pod, cJSON *notes, struct err *err);
