/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotation afterglow.dev/policy of a pod: the policies by which the operator made it. Pure. Whoever may write pods may write it.
 *
 *	RayPolicy/training generation 3 (recording, store); ClusterRayPolicy/production generation 1 (memory, locked)
 */
#ifndef AFTERGLOW_PLUGIN_POLICY_ORIGIN_H
#define AFTERGLOW_PLUGIN_POLICY_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>

#define POLICY_ANNOTATION "afterglow.dev/policy"
#define POLICY_ORIGINS_MAX 8 /* each of three blocks may be given by another object and locked by another */
#define POLICY_NAME_MAX 254

enum origin_block { ORIGIN_MEMORY, ORIGIN_RECORDING, ORIGIN_STORE, ORIGIN_BLOCKS };

struct policy_origin {
	bool is_cluster_wide; /* a ClusterRayPolicy; else a RayPolicy */
	char name[POLICY_NAME_MAX];
	int64_t generation;
	bool gives[ORIGIN_BLOCKS];
	bool locks;
};

struct policy_origins {
	struct policy_origin of[POLICY_ORIGINS_MAX];
	unsigned int n;
	bool is_whole; /* all of the annotation was understood */
};

/* text NULL: there is no annotation, and the chart's values alone decided. */
void policy_origins_parse(const char *text, struct policy_origins *ret_origins);

/* The object that gives the block; NULL: none, so the chart's values hold. */
const struct policy_origin *policy_origin_of(const struct policy_origins *origins, enum origin_block block);

/* "RayPolicy", "ClusterRayPolicy" */
const char *policy_origin_kind(const struct policy_origin *origin);

#endif
