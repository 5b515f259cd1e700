/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory safety of one Ray pod. What Ray may hand out to tasks (--memory), what
 * its object store may take (--object-store-memory, held in /dev/shm and charged
 * to the same cgroup) and a headroom for raylet, agents and the interpreter must
 * fit into the container's limit together. KubeRay gives tasks the full limit;
 * then the kernel ends the container where Ray would have queued a task.
 * The user's own values win; where they do not fit, a note names the figures.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/policy/policy.h"
#include "operator/raycluster/names.h"

/* Ray refuses a smaller object store (OBJECT_STORE_MINIMUM_MEMORY_BYTES in ray_constants.py). */
#define RAY_OBJECT_STORE_MIN ((int64_t)75 << 20)

/* All in bytes, 0: not known or not set. */
struct memory_wish {
	int64_t limit; /* the Ray container's memory limit */
	int64_t ray_memory; /* the user's --memory */
	int64_t object_store; /* the user's --object-store-memory */
	int64_t shm_size; /* size of a /dev/shm that the user mounted */
	/* plasma-directory: the object store is a file that the kernel can write out */
	bool no_shm;
};

struct memory_budget {
	int64_t ray_memory;
	int64_t object_store;
	int64_t headroom;
	/* for the /dev/shm that we mount: the object store and a little for others */
	int64_t shm_size;
	int64_t excess; /* bytes by which the sum passes the limit, 0 when it fits */
};

/* Divides the limit (> 0). Sizes that the user set are taken over unchanged. */
struct memory_budget memory_divide(const struct memory_wish *wish, const struct policy *policy);

struct memory_request {
	enum ray_node node;
	const char *group; /* its name, for the notes */
	bool keeps_cpus; /* nothing else could run tasks, or the author sizes the CPUs himself */
	bool keeps_memory; /* the author sizes memory or the object store himself (own_sizing.h) */
	const struct policy *policy;
};

/*
 * Applies the policy to one group: limit and request of the Ray container
 * (containers[0] of pod_spec), num-cpus of the head, memory and
 * object-store-memory in params, the monitor's environment, and notes.
 * Returns the size for /dev/shm in bytes, 0 for no limit.
 */
int64_t memory_apply(cJSON *pod_spec, cJSON *params, const struct memory_request *req,
		     cJSON *notes);

/*
 * Does the same under the policy's modes. What is not applied is as KubeRay has it; Warn adds the
 * notes, Off adds none. Budgets are applied unless the policy says otherwise.
 */
int64_t memory_apply_by_mode(cJSON *pod_spec, cJSON *params, const struct memory_request *req,
			     cJSON *notes);
