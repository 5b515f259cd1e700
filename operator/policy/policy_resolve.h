/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which policy applies to a RayCluster: the operator's own (the base), the
 * ClusterRayPolicies, or the RayPolicies of its namespace. Pure.
 *
 * Each block (memory, recording, store, retention) is taken as a whole from one of
 * them; nothing is merged inside a block. A RayPolicy precedes a ClusterRayPolicy,
 * unless a ClusterRayPolicy that selects the cluster locks the block. Of two policies
 * of the same kind, the older applies; of the same age, the first by name. Invalid
 * policies never apply.
 */
#pragma once

#include "operator/policy/policy_object.h"

/* Sorted by policy_object_compare. */
struct policy_list {
	struct policy_object **items;
	size_t n;
};

/* The object that each block comes from. Two choices can be compared by memcmp. */
struct policy_choice {
	const struct policy_object *from[POLICY_BLOCKS]; /* NULL: the base */
	/*
	 * The ClusterRayPolicy that locks the block, if the lock made a difference or the block
	 * comes from it; NULL: none.
	 */
	const struct policy_object *lock[POLICY_BLOCKS];
};

/*
 * Called if loser gives the block and selects the cluster, but winner's block applies: winner is
 * older, or (locked) locks the block.
 */
typedef void policy_loser_fn(void *arg, const struct policy_object *loser, enum policy_block block,
			     const struct policy_object *winner, bool locked);

/*
 * Chooses the blocks. policies are those of the cluster's namespace. The labels may be NULL, and so
 * may fn. Allocates nothing.
 */
void policy_choose(const struct policy_list *cluster_policies, const struct policy_list *policies,
		   const cJSON *namespace_labels, const cJSON *cluster_labels,
		   struct policy_choice *ret_choice, policy_loser_fn *fn, void *arg);

/*
 * Makes a copy of the base with the chosen blocks, which the caller releases. Its sidecar_image is
 * NULL if recording is not enabled. *ret_origin, which the caller frees, names its sources,
 * as in "RayPolicy/team-a generation 3 (memory, recording); ClusterRayPolicy/platform generation 7
 * (store, locked)"; it omits retention, which does not concern pods. It is NULL if all blocks come
 * from the base. Returns 0 or -ENOMEM.
 */
int policy_resolve(const struct policy *base, const struct policy_choice *choice,
		   struct policy *ret_policy, char **ret_origin, struct err *err);

/*
 * Returns whether two policies of the same kind could select the same cluster, judging by their
 * selectors alone.
 */
bool policy_objects_overlap(const struct policy_object *a, const struct policy_object *b);
