/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the fields of one group of a RayCluster that memory safety may set, and the
 * values they should have. The numbers come from memory_apply, which our own
 * reconciler uses too. KubeRay makes the rest of the pod, so fewer fields are
 * needed than there: its /dev/shm has the size of the memory limit
 * (makeEmptyDirVolume in common/pod.go), which every object store fits into,
 * and the API server takes an absent request from the limit.
 *
 * KubeRay refuses a group that has both `resources` and one of num-cpus,
 * num-gpus, memory, resources in rayStartParams (validateRayGroupResources in
 * utils/validation.go). So in a group with `resources` of the user's own, the
 * CPUs and the memory go there.
 *
 * Values of rayStartParams reach the shell as `--name=value`, so a user's may be
 * any shell text; Ray's autoscaler takes int() of ours, so they are whole
 * decimal numbers.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/policy/policy.h"
#include "operator/raycluster/names.h"
#include "operator/raycluster/own_sizing.h"

enum group_field {
	GROUP_LIMIT, /* limits.memory of containers[0]; workers only */
	GROUP_PARAM_CPUS, /* rayStartParams.num-cpus; the head only */
	GROUP_PARAM_MEMORY, /* rayStartParams.memory */
	GROUP_PARAM_STORE, /* rayStartParams.object-store-memory */
	GROUP_CPUS, /* resources.CPU, in place of GROUP_PARAM_CPUS */
	GROUP_MEMORY, /* resources.memory, in place of GROUP_PARAM_MEMORY */
	GROUP_ENV_THRESHOLD, /* env RAY_memory_usage_threshold of containers[0] */
	GROUP_ENV_REFRESH, /* env RAY_memory_monitor_refresh_ms */
	GROUP_FIELD_COUNT
};

#define GROUP_VALUE_MAX 24 /* bytes of a value with its NUL */

/* Values by field; "" is none. */
struct group_values {
	char text[GROUP_FIELD_COUNT][GROUP_VALUE_MAX];
	int64_t limit; /* bytes: the memory limit that the values were computed from, 0 for none */
};

/* Returns the name that the annotation and warnings use: "rayStartParams.memory". */
const char *group_field_name(enum group_field field);

/*
 * Returns whether the field lies in a list (containers), which three-way tools compare only as a
 * whole. All fields of a worker group do.
 */
bool group_field_in_list(enum group_field field);

/* Returns whether it is a number of bytes that Ray's scheduler counts with. */
bool group_field_is_budget(enum group_field field);
/* Returns the mode of the field: that of budgets, or that of the other settings. */
enum memory_mode group_field_mode(enum group_field field, struct memory_modes modes);

/*
 * Returns whether memory safety could have set this text: a number in digits, for the limit a
 * quantity.
 */
bool group_value_is_valid(enum group_field field, const char *text);

bool group_values_empty(const struct group_values *values);

/* Returns the field's value in the group; NULL if it is absent or null. Owned by group. */
cJSON *group_field_get(const cJSON *group, enum group_field field);
/* Returns whether it stands there with this text. */
bool group_field_is(const cJSON *group, enum group_field field, const char *text);
/* Sets or removes ("") the field. Other fields keep their places. */
void group_field_set(cJSON *group, enum group_field field, const char *text);

/*
 * Returns the memory limit in bytes of containers[0]; 0 if there is none, or if it is the limit
 * that ours (which may be NULL) says we set; -1 if the group does not have the shape of KubeRay's
 * schema, or has an impossible quantity, so that it is left alone.
 */
int64_t group_limit(const cJSON *group, const struct group_values *ours);

/*
 * Returns whether KubeRay looks for CPUs and memory in `resources`, which has more than what ours
 * put there.
 */
bool group_uses_resources(const cJSON *group, const struct group_values *ours);

/*
 * Returns what the group's author says about Ray's size beside rayStartParams and resources.
 * cluster_keeps_command: keeps_own_command of the cluster's annotations, which may be many.
 */
struct own_sizing group_own_sizing(const cJSON *group, bool cluster_keeps_command);

struct group_context {
	enum ray_node node;
	bool head_runs_tasks; /* no workers could run tasks, so the head keeps its CPUs */
	bool resized; /* Ray resizes the group in place, so it is left alone */
	bool lists; /* fields in lists may be set */
	const char *name; /* for the notes */
	bool cluster_keeps_command; /* as in group_own_sizing */
	const struct policy *policy;
};

/*
 * Computes the values that memory safety would set in the group if the fields that ours (which may
 * be NULL) says we set were absent; "" where the user has a value, or sizes Ray in another way.
 * Notes of memory_apply go to notes. Returns false, with nothing to set, if the group is left
 * alone.
 */
bool group_plan(const cJSON *group, const struct group_values *ours, const struct group_context *cx,
		struct group_values *ret_want, cJSON *notes);
