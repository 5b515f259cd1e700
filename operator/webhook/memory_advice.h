/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the warnings about the memory of a cluster's groups: problems that only a person
 * can solve (no limit, sums over the limit, an object store that Ray refuses), the values
 * that are set when the object is created, and those that are not set automatically.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/policy/policy.h"
#include "operator/webhook/cluster_origin.h"
#include "operator/webhook/memory_record.h"

/*
 * Of a RayCluster, RayJob or RayService, in any case: "off", "warn" or "apply" in place of the
 * policy's modes.
 */
#define MEMORY_ANNOTATION "afterglow.dev/memory"

struct advice_request {
	/* of a RayCluster, or the template in a RayJob or RayService */
	const cJSON *spec;
	const struct memory_record *record; /* what in it is ours */
	const cJSON *annotations; /* the object's, which KubeRay copies to the RayCluster */
	enum list_keeper keeper;
	struct memory_modes modes;
	bool created; /* the object is new, so values are being set */
	const struct policy *policy;
};

void memory_advise(const struct advice_request *req, cJSON *warnings);
