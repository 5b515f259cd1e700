/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One RayPolicy or ClusterRayPolicy, parsed: what it selects, which blocks it gives,
 * and which it locks. Pure. A person who may write policies may write anything into
 * them, if the CRD of another version lets it pass. So everything is checked again
 * and bounded.
 */
#pragma once

#include "operator/policy/policy.h"
#include "operator/policy/selector.h"

#define POLICY_IGNORED_MAX 256

struct policy_object {
	bool is_cluster_wide; /* a ClusterRayPolicy */
	char *name;
	char *uid;
	int64_t generation;
	int64_t created_ns; /* since 1970; INT64_MAX: not known */
	struct selector selector; /* of RayClusters, by their labels */
	struct selector namespace_selector; /* of a ClusterRayPolicy; otherwise empty */
	unsigned given, locked; /* a bit for each enum policy_block */
	struct policy values; /* the blocks that are given, over the operator's built-in defaults */
	struct err trouble; /* why it is invalid and does not apply at all; code 0: it is valid */
	void *owner; /* for the owner's use */
	/* "spec.a, spec.b": unknown fields, perhaps of a later version; "": none. */
	char ignored[POLICY_IGNORED_MAX];
};

/*
 * Parses a policy. Returns an object for an invalid policy too; its trouble says why it is invalid.
 * Returns NULL if there is no memory, or no name.
 */
struct policy_object *policy_object_new(const cJSON *object);
void policy_object_free(struct policy_object *o); /* NULL is allowed */

static inline bool policy_object_gives(const struct policy_object *o, enum policy_block block)
{
	return o->given & (1u << block);
}

static inline bool policy_object_locks(const struct policy_object *o, enum policy_block block)
{
	return o->locked & (1u << block);
}

/* Returns "RayPolicy" or "ClusterRayPolicy". */
const char *policy_object_kind(const struct policy_object *o);

/* Orders policies by age, the oldest first, and then by name; as for qsort. */
int policy_object_compare(const struct policy_object *a, const struct policy_object *b);
