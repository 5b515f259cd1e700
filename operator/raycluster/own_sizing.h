/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether the author of a group says how large Ray is in another way than by the
 * rayStartParams that memory safety sets: by variables that Ray reads, by a start command of his
 * own, or by asking for in-place resizing. What the author says wins, so nothing is set there.
 * Pure; the facts about Ray are those of 2.60.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strmap.h"

/*
 * "true" on a RayCluster, for all of its pods, or on a pod's template: KubeRay runs the container's
 * own command.
 */
#define OVERWRITE_ANNOTATION "ray.io/overwrite-container-cmd"

struct own_sizing {
	bool cpus; /* the author sizes the CPUs */
	bool memory; /* the author sizes memory or the object store */
	/*
	 * envFrom may bring a variable that sizes the memory. (One that sizes CPUs precedes
	 * --num-cpus in Ray.)
	 */
	bool unseen;
};

/*
 * container is Ray's, params are the rayStartParams. keeps_command: the container's command is run
 * as it is, so rayStartParams reach Ray only if that command asks for KubeRay's.
 */
struct own_sizing own_sizing_of(const cJSON *container, const cJSON *params, bool keeps_command);

/*
 * Returns whether the annotations, a RayCluster's or a pod template's, keep the container's
 * command.
 */
bool keeps_own_command(const cJSON *annotations);

/*
 * The groups that the annotation ray.io/ippr names: Ray resizes their pods in place. Its autoscaler
 * (validate_and_set_ippr_specs) stops if one of them has num-cpus or memory in rayStartParams.
 */
struct resized_groups {
	struct strmap names;
	bool all; /* the annotation cannot be read, so it may name any group */
};

struct resized_groups resized_groups_of(const cJSON *cluster_annotations);
void resized_groups_release(struct resized_groups *resized);
bool resized_groups_have(const struct resized_groups *resized, const char *group);
