/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the status of a RayPolicy or ClusterRayPolicy. Pure. */
#pragma once

#include "operator/policy/policy_object.h"

/* The most RayPolicies of a namespace, and ClusterRayPolicies, that apply; the oldest ones do. */
#define POLICY_OBJECTS_MAX 100

struct policy_tally {
	size_t clusters, pods; /* to which a block of it applies */
	bool too_many; /* it is beyond POLICY_OBJECTS_MAX */
	struct {
		/*
		 * The policy with a block that applies in its place, for at least one cluster;
		 * NULL: none.
		 */
		const struct policy_object *winner;
		bool locked;
	} losses[POLICY_BLOCKS];
};

/*
 * Makes the whole status. A condition that has not changed keeps the time of its last transition.
 * Returns NULL if there is no memory.
 */
cJSON *policy_status(const struct policy_object *o, const struct policy_tally *tally,
		     const cJSON *old_status, int64_t now_ns);

enum policy_status_change { POLICY_STATUS_SAME, POLICY_STATUS_COUNTS, POLICY_STATUS_WORDS };

/* Compares two statuses: they are the same, only counts differ, or more differs. */
enum policy_status_change policy_status_compare(const cJSON *old_status, const cJSON *status);
