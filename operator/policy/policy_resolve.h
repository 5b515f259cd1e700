/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which policy holds for one RayCluster, of the operator's own (the base), the
 * ClusterRayPolicies and the RayPolicies of its namespace. Pure.
 *
 * Each block (memory, recording, store, retention) is taken as a whole from one
 * of them: nothing is merged inside. A RayPolicy goes before a ClusterRayPolicy,
 * unless one that selects the cluster locks the block; of two of a kind the
 * older holds, then the name. Invalid ones have no say.
 */
#ifndef AFTERGLOW_OPERATOR_POLICY_POLICY_RESOLVE_H
#define AFTERGLOW_OPERATOR_POLICY_POLICY_RESOLVE_H

#include "operator/policy/policy_object.h"

/* Sorted by policy_object_compare. */
struct policy_list {
	struct policy_object **items;
	size_t n;
};

/* From which object each block is; comparing two choices by memcmp is fine. */
struct policy_choice {
	const struct policy_object *from[POLICY_BLOCKS]; /* NULL: the base */
	/* The ClusterRayPolicy that locks the block, if that made a difference or the block is its own; NULL: none. */
	const struct policy_object *lock[POLICY_BLOCKS];
};

/* loser gives the block and selects the cluster, but winner's holds: it is older, or (locked) it locks the block. */
typedef void policy_loser_fn(void *arg, const struct policy_object *loser, enum policy_block block,
			     const struct policy_object *winner, bool locked);

/* policies are those of the cluster's namespace. Labels NULL: none. fn NULL: nobody wants to know. Allocates nothing. */
void policy_choose(const struct policy_list *cluster_policies, const struct policy_list *policies, const cJSON *namespace_labels,
		   const cJSON *cluster_labels, struct policy_choice *ret_choice, policy_loser_fn *fn, void *arg);

/*
 * The policy that the choice makes of the base, a copy that the caller releases. Its sidecar_image is NULL where recording is not
 * enabled. *ret_origin, which the caller frees, says whose it is for people, as in "RayPolicy/team-a generation 3 (memory,
 * recording); ClusterRayPolicy/platform generation 7 (store, locked)"; retention, which is no pod's, is not spoken of. NULL:
 * only the base's. -ENOMEM.
 */
int policy_resolve(const struct policy *base, const struct policy_choice *choice, struct policy *ret_policy, char **ret_origin,
		   struct err *err);

/* Whether two of a kind select some cluster in common, whatever clusters there are. False: not as far as their words tell. */
bool policy_objects_overlap(const struct policy_object *a, const struct policy_object *b);

#endif
