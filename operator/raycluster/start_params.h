/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rayStartParams: the group's own, the logical resources and labels of the
 * group, KubeRay's defaults for absent ones, and the command line from them.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/err.h"
#include "operator/raycluster/names.h"

/*
 * Sets the user's parameters: rayStartParams with the group's `resources` and
 * `labels` merged in. The caller owns the object, a map of strings.
 */
int start_params_from_group(const cJSON *group, cJSON **ret_params, struct err *err);

/*
 * Fills in absent parameters. resources is the Ray container's (limits, requests);
 * address is the head's host:port for a worker, NULL for the head. memory.h sets memory,
 * object-store-memory and the head's num-cpus earlier.
 */
void start_params_add_defaults(cJSON *params, enum ray_node node, const cJSON *resources,
			       const char *address);

/*
 * Makes "ray start --head  --block  --num-cpus=1 ", sorted and with a trailing blank. Returns
 * NULL if there is no memory.
 */
char *start_params_command(const cJSON *params, enum ray_node node);

/* The shell runs this before the command. */
#define RAY_ULIMIT_COMMAND "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "

/* Returns whether Ray counts this resource of Kubernetes, or of a group's `resources`, as GPUs. */
bool resource_is_gpu(const char *name);

/* Returns the port that is the parameter's value, or the fallback. */
int64_t start_param_port(const cJSON *params, const char *name, int64_t fallback);
/* Sets a parameter that is absent. */
void start_param_default_int(cJSON *params, const char *name, int64_t value);
