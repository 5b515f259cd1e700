/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RayPolicies and ClusterRayPolicies that there are, parsed once per change,
 * and which policy holds for a cluster. Fed by the watches; the replica that acts
 * writes their statuses, which say what they govern and who is in their way.
 */
#ifndef AFTERGLOW_OPERATOR_POLICY_POLICIES_H
#define AFTERGLOW_OPERATOR_POLICY_POLICIES_H

#include "operator/manager/watches.h"
#include "operator/policy/policy.h"

struct policies;

struct policies_options {
	struct event_base *base;
	struct client *client;
	struct watches *watches; /* which feed it by policies_see */
	const struct policy *policy; /* the operator's own */
	struct retention retention; /* of the operator's own */
	bool (*may_write)(void *arg);
	void *arg;
};

int policies_new(const struct policies_options *options, struct policies **ret_policies, struct err *err);
void policies_free(struct policies *p); /* NULL is allowed */

/* A change of a copy: of RayPolicies, ClusterRayPolicies, Namespaces, RayClusters or pods. Others are passed over. */
void policies_see(struct policies *p, enum watch_kind kind, enum store_change change, const cJSON *before, const cJSON *after);
/* may_write has become true. */
void policies_begin(struct policies *p);

/*
 * The policy that holds for a RayCluster with these labels (NULL: none) in that namespace; never NULL. Its sidecar_image is NULL
 * where pods are not recorded. *ret_origin (policy_resolve.h), for the annotation of pods, is NULL where it is only the operator's
 * own. Both are valid until the next call, or the next callback of the loop: copy what must last longer. Allocates only the first
 * time that a combination of policies is met.
 */
const struct policy *policies_for(struct policies *p, const char *namespace, const cJSON *cluster_labels, const char **ret_origin);

/* How the RayFailures of the namespace are kept. */
struct retention policies_retention(const struct policies *p, const char *namespace);

#endif
