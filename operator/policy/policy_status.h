/* SPDX-License-Identifier: Apache-2.0 */
/* What the status of a RayPolicy or ClusterRayPolicy says. Pure. */
#ifndef AFTERGLOW_OPERATOR_POLICY_POLICY_STATUS_H
#define AFTERGLOW_OPERATOR_POLICY_POLICY_STATUS_H

#include "operator/policy/policy_object.h"

/* Of a namespace's RayPolicies, and of all ClusterRayPolicies, only so many of the oldest count. */
#define POLICY_OBJECTS_MAX 100

struct policy_tally {
	size_t clusters, pods; /* for which something of it holds */
	bool too_many; /* it is beyond POLICY_OBJECTS_MAX */
	struct {
		const struct policy_object *winner; /* whose block holds in its place, somewhere; NULL: nobody's */
		bool locked;
	} losses[POLICY_BLOCKS];
};

/* The whole status. A condition that says the same as before keeps the time of its last transition. NULL: no memory. */
cJSON *policy_status(const struct policy_object *o, const struct policy_tally *tally, const cJSON *old_status, int64_t now_ns);

enum policy_status_change { POLICY_STATUS_SAME, POLICY_STATUS_COUNTS, POLICY_STATUS_WORDS };

/* Whether a status is to be written: what differs, and whether it is more than numbers. */
enum policy_status_change policy_status_compare(const cJSON *old_status, const cJSON *status);

#endif
