/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the memory of one Ray pod. */
#include "operator/raycluster/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/podspec/notes.h"
#include "operator/podspec/pod_spec.h"
#include "operator/podspec/quantity.h"
#include "operator/raycluster/start_params.h"

#define MIB ((int64_t)1 << 20)
/* 8 PiB: sums of several such numbers do not overflow, and a double represents each exactly */
#define BYTES_MAX ((int64_t)1 << 53)

static int64_t memory_part(int64_t limit, double fraction)
{
	return (int64_t)((double)limit * fraction);
}

static int64_t whole_mib(int64_t bytes)
{
	return bytes / MIB * MIB;
}

static int64_t memory_headroom(int64_t limit, const struct policy *policy)
{
	return policy->memory.headroom_bytes ? policy->memory.headroom_bytes :
					       memory_part(limit, policy->memory.headroom_fraction);
}

/* Returns the policy's size, reduced to what the user's --memory or a smaller /dev/shm leaves. */
static int64_t object_store(const struct memory_wish *wish, int64_t reserve,
			    const struct policy *policy)
{
	int64_t size = memory_part(wish->limit, policy->memory.object_store_fraction);

	if (wish->ray_memory)
		size = MIN(size, wish->limit - reserve - wish->ray_memory);
	if (wish->shm_size)
		size = MIN(size, wish->shm_size);
	return MAX(whole_mib(size), RAY_OBJECT_STORE_MIN);
}

/*
 * Returns a size for /dev/shm. Ray compares the store with its free bytes, and PyTorch's loaders
 * and other programs leave their files there, too. A tmpfs uses memory only for its files.
 */
static int64_t shm_size(int64_t store)
{
	return whole_mib(store + MAX(store / 16, 16 * MIB) + MIB - 1);
}

struct memory_budget memory_divide(const struct memory_wish *wish, const struct policy *policy)
{
	struct memory_budget b = { .headroom = memory_headroom(wish->limit, policy) };
	int64_t store = 0, rest;

	if (!wish->no_shm) {
		store = wish->object_store ? wish->object_store :
					     object_store(wish, b.headroom, policy);
		b.object_store = store;
		b.shm_size = shm_size(store);
	}
	rest = wish->limit - store - b.headroom;
	if (wish->ray_memory)
		b.ray_memory = wish->ray_memory;
	/*
	 * Even if the limit is too small for Ray, the number is one that Ray accepts; `excess`
	 * shows the problem.
	 */
	else
		b.ray_memory = whole_mib(
			MAX(MIN(rest, memory_part(wish->limit, policy->memory.ray_memory_fraction)),
			    MIB));
	b.excess = MAX(store + b.headroom + b.ray_memory - wish->limit, 0);
	return b;
}

/*
 * Returns a whole number of bytes; 0 if it is absent or only the shell can compute it
 * ("$((2**30))").
 */
static int64_t param_bytes(const cJSON *params, const char *name)
{
	const char *text = json_member(params, name);
	char *end;

	if (!text)
		return 0;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	return *text && !*end && !errno && value > 0 ? MIN(value, BYTES_MAX) : 0;
}

static int64_t quantity_at(const cJSON *resources, const char *path)
{
	const char *text = json_str(resources, path);
	int64_t value = 0;

	if (!text)
		value = MAX(json_int(resources, path, 0), 0);
	else if (quantity_parse(text, &value, NULL) < 0)
		value = 0;
	return MIN(value, BYTES_MAX);
}

/*
 * Returns the limit in force, 0 for none. A request above the policy's limit raises the limit,
 * because the pod would be invalid otherwise.
 */
static int64_t settle_limit(cJSON *container, enum ray_node node, const struct policy *policy)
{
	cJSON *resources = json_object_at(container, "resources");
	int64_t limit = quantity_at(resources, "limits.memory");
	int64_t request = quantity_at(resources, "requests.memory");
	char text[QUANTITY_TEXT_MAX];

	if (!limit && node == RAY_WORKER && policy->memory.worker_memory_limit) {
		limit = MAX(policy->memory.worker_memory_limit, request);
		json_set_str(json_object_at(resources, "limits"), "memory",
			     quantity_format_bytes(limit, text));
	}
	if (limit && !request)
		json_set(json_object_at(resources, "requests"), "memory",
			 cJSON_Duplicate(json_get(resources, "limits.memory"), true));
	return limit;
}

static void note_excess(const struct memory_wish *wish, const struct memory_budget *b,
			const char *group, cJSON *notes)
{
	if (!b->excess)
		return;
	notes_addf(
		notes, NOTE_MEMORY_SAFE, "MemoryOverLimit",
		"group %s: memory %s%s + object store %s%s + headroom %s is %s over the container's limit of %s",
		group, SIZE_TEXT(b->ray_memory), wish->ray_memory ? " (yours)" : "",
		SIZE_TEXT(b->object_store), wish->object_store ? " (yours)" : "",
		SIZE_TEXT(b->headroom), SIZE_TEXT(b->excess), SIZE_TEXT(wish->limit));
}

static void note_object_store(const cJSON *container, const struct memory_wish *wish,
			      const char *group, cJSON *notes)
{
	char store[SIZE_TEXT_MAX];

	if (!wish->object_store)
		return;
	size_format((uint64_t)wish->object_store, store);
	if (wish->object_store < RAY_OBJECT_STORE_MIN)
		notes_addf(notes, NOTE_MEMORY_SAFE, "ObjectStoreTooSmall",
			   "group %s: object-store-memory is %s, but Ray refuses less than 75 MiB",
			   group, store);
	if (wish->shm_size && wish->object_store > wish->shm_size &&
	    !container_env(container, "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"))
		notes_addf(
			notes, NOTE_MEMORY_SAFE, "ObjectStoreOverShm",
			"group %s: object-store-memory is %s and does not fit your /dev/shm of %s: Ray may refuse to start",
			group, store, SIZE_TEXT(wish->shm_size));
}

static void set_monitor(cJSON *container, const struct policy *policy)
{
	char text[24];

	if (policy->memory.usage_threshold > 0) {
		snprintf(text, sizeof(text), "%g", policy->memory.usage_threshold);
		container_env_default(container, "RAY_memory_usage_threshold", text);
	}
	if (policy->memory.monitor_refresh_ms >= 0) {
		snprintf(text, sizeof(text), "%" PRId64, policy->memory.monitor_refresh_ms);
		container_env_default(container, "RAY_memory_monitor_refresh_ms", text);
	}
}

/* Returns the sizeLimit of the user's own /dev/shm; 0 if it has none, or there is no such mount. */
static int64_t own_shm_size(const cJSON *pod_spec, const cJSON *container)
{
	const cJSON *mount =
		json_find(json_get(container, "volumeMounts"), "mountPath", "/dev/shm");
	const char *name = json_str(mount, "name");

	if (!name)
		return 0;
	return quantity_at(json_find(json_get(pod_spec, "volumes"), "name", name),
			   "emptyDir.sizeLimit");
}

/*
 * Sets what is no budget: the head's CPUs, the monitor's environment, the limit. Returns the limit
 * in force, 0 for none.
 */
static int64_t apply_settings(cJSON *pod_spec, cJSON *params, const struct memory_request *req)
{
	const char *cpus = req->policy->memory.head_num_cpus;
	cJSON *container = ray_container(pod_spec);

	if (req->node == RAY_HEAD && !req->keeps_cpus && cpus && !json_member(params, "num-cpus"))
		json_set_str(params, "num-cpus", cpus);
	set_monitor(container, req->policy);
	return settle_limit(container, req->node, req->policy);
}

static void note_no_limit(const struct memory_request *req, cJSON *notes)
{
	notes_addf(
		notes, NOTE_MEMORY_SAFE, "NoMemoryLimit",
		"group %s: the Ray container has no memory limit, so one task can take the node's memory: set "
		"resources.limits.memory%s",
		req->group,
		req->node == RAY_WORKER ? " (or the operator's workerMemoryLimit)" : "");
}

/* Keeps KubeRay's defaults: Ray may use the whole limit, and /dev/shm has the same size. */
static int64_t leave_as_kuberay(cJSON *pod_spec, cJSON *params)
{
	int64_t limit =
		quantity_at(json_get(ray_container(pod_spec), "resources"), "limits.memory");

	if (limit)
		start_param_default_int(params, "memory", limit);
	return limit;
}

/* Sets memory and object-store-memory. Returns the size for /dev/shm. */
static int64_t apply_budgets(cJSON *pod_spec, cJSON *params, int64_t limit,
			     const struct memory_request *req, cJSON *notes)
{
	cJSON *container = ray_container(pod_spec);
	const struct memory_wish wish = {
		.limit = limit,
		.ray_memory = param_bytes(params, "memory"),
		.object_store = param_bytes(params, "object-store-memory"),
		.shm_size = own_shm_size(pod_spec, container),
		.no_shm = json_member(params, "plasma-directory") != NULL,
	};

	note_object_store(container, &wish, req->group, notes);
	if (!limit) {
		note_no_limit(req, notes);
		return 0;
	}
	if (req->keeps_memory)
		return leave_as_kuberay(pod_spec, params);
	struct memory_budget budget = memory_divide(&wish, req->policy);
	start_param_default_int(params, "memory", budget.ray_memory);
	if (!wish.no_shm)
		start_param_default_int(params, "object-store-memory", budget.object_store);
	note_excess(&wish, &budget, req->group, notes);
	return budget.shm_size;
}

int64_t memory_apply(cJSON *pod_spec, cJSON *params, const struct memory_request *req, cJSON *notes)
{
	return apply_budgets(pod_spec, params, apply_settings(pod_spec, params, req), req, notes);
}

int64_t memory_apply_by_mode(cJSON *pod_spec, cJSON *params, const struct memory_request *req,
			     cJSON *notes)
{
	struct memory_modes modes = policy_memory_modes(req->policy, MEMORY_MODE_APPLY);

	if (modes.budgets == MEMORY_MODE_APPLY)
		return memory_apply(pod_spec, params, req, notes);
	if (modes.budgets == MEMORY_MODE_WARN) {
		_cleanup_json_ cJSON *spec = cJSON_Duplicate(pod_spec, true),
				     *copy = cJSON_Duplicate(params, true);

		if (spec && copy)
			memory_apply(spec, copy, req, notes);
	}
	if (modes.settings == MEMORY_MODE_APPLY)
		apply_settings(pod_spec, params, req);
	return leave_as_kuberay(pod_spec, params);
}
