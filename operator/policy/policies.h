/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows all RayPolicies and ClusterRayPolicies, parsed once per change, and which
 * policy applies to a cluster. The watches report changes to it. The leader writes
 * the statuses of policies, which say what each governs and what overrides it.
 */
#pragma once

#include "operator/cache/watches.h"
#include "operator/policy/policy.h"

struct policies;

struct policies_options {
	struct event_base *base;
	struct client *client;
	struct watches *watches; /* they call policies_see */
	const struct policy *policy; /* the operator's own policy */
	struct retention retention; /* from the operator's options */
	bool (*may_write)(void *arg);
	void *arg;
};

int policies_new(const struct policies_options *options, struct policies **ret_policies,
		 struct err *err);
void policies_free(struct policies *p); /* NULL is allowed */

/*
 * Call this for each change of a copy of RayPolicies, ClusterRayPolicies, Namespaces,
 * RayClusters or pods; ignores other kinds.
 */
void policies_see(struct policies *p, enum watch_kind kind, enum store_change change,
		  const cJSON *before, const cJSON *after);
/* Call this when may_write has become true. */
void policies_begin(struct policies *p);

/*
 * Returns the policy that applies to a RayCluster with these labels (NULL: none) in that namespace;
 * never NULL. Its sidecar_image is NULL if pods are not recorded. *ret_origin (policy_resolve.h) is
 * for the annotation of pods; NULL: only the operator's own policy applies. Both are valid until
 * the next call or the next callback of the loop. Allocates only when a combination of policies
 * occurs for the first time.
 */
const struct policy *policies_for(struct policies *p, const char *namespace,
				  const cJSON *cluster_labels, const char **ret_origin);

/* Returns how long, and how many, RayFailures of the namespace are kept. */
struct retention policies_retention(const struct policies *p, const char *namespace);
