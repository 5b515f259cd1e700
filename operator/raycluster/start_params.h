/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rayStartParams: the group's own, the logical resources and labels of the
 * group, KubeRay's defaults for what is absent, and the command line they make.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_START_PARAMS_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_START_PARAMS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/err.h"
#include "operator/raycluster/names.h"

/*
 * The user's parameters: rayStartParams with the group's `resources` and
 * `labels` merged in. The caller owns the object, a map of strings.
 */
int start_params_from_group(const cJSON *group, cJSON **ret_params, struct err *err);

/*
 * Fills in what is absent. resources is the Ray container's (limits, requests);
 * address is the head's host:port for a worker, NULL for the head. memory,
 * object-store-memory and the head's num-cpus are memory.h's business, before.
 */
void start_params_add_defaults(cJSON *params, enum ray_node node, const cJSON *resources,
			       const char *address);

/* "ray start --head  --block  --num-cpus=1 ": sorted, the trailing blank belongs to it. NULL: no memory. */
char *start_params_command(const cJSON *params, enum ray_node node);

/* What the shell runs before it. */
#define RAY_ULIMIT_COMMAND "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "

/* Whether Ray counts this resource of Kubernetes, or of a group's `resources`, as GPUs. */
bool resource_is_gpu(const char *name);

/* The string of a parameter, NULL when absent. */
const char *start_param(const cJSON *params, const char *name);

#endif
