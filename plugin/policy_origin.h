/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the annotation afterglow.dev/policy of a pod: the policies that the operator applied to it.
 * Everybody who may write the pod may write the annotation, so it is not trusted. Pure.
 *
 *	RayPolicy/training generation 3 (recording, store); ClusterRayPolicy/production generation 1 (memory, locked)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define POLICY_ANNOTATION "afterglow.dev/policy"
#define POLICY_ORIGINS_MAX 8 /* three blocks, each given by a policy and locked by another, at most */
#define POLICY_NAME_MAX 254 /* bytes, with the final NUL */

enum origin_block { ORIGIN_MEMORY, ORIGIN_RECORDING, ORIGIN_STORE, ORIGIN_BLOCKS };

struct policy_origin {
	bool is_cluster_wide; /* true: it is a ClusterRayPolicy; false: a RayPolicy */
	char name[POLICY_NAME_MAX];
	int64_t generation; /* metadata.generation, when the pod was made */
	bool gives[ORIGIN_BLOCKS]; /* the blocks of settings that it gives */
	bool locks; /* no RayPolicy or annotation can override it */
};

struct policy_origins {
	struct policy_origin of[POLICY_ORIGINS_MAX];
	unsigned int n;
	bool is_whole; /* all of the annotation could be parsed */
};

/* text is NULL if the pod has no annotation, because only the chart's values decided. */
void policy_origins_parse(const char *text, struct policy_origins *ret_origins);

/*
 * Returns the policy that gives the block, owned by origins; NULL if the block has the chart's
 * values.
 */
const struct policy_origin *policy_origin_of(const struct policy_origins *origins, enum origin_block block);

/* Returns "RayPolicy" or "ClusterRayPolicy". */
const char *policy_origin_kind(const struct policy_origin *origin);
