/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and sets the fields of a RayCluster's group that memory safety may set. */
#include "operator/webhook/group_memory.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/memory.h"
#include "operator/raycluster/start_params.h"

#define LIMIT_MAX ((int64_t)1 << 53) /* 8 PiB, as in memory.c; no machine has more */

enum place { IN_PARAMS, IN_RESOURCES, IN_LIMITS, IN_ENV };

static const struct {
	const char *name;
	enum place place;
	const char *key;
	/* clang-format off */
} fields[GROUP_FIELD_COUNT] = {
	[GROUP_LIMIT] = { "limits.memory", IN_LIMITS, "memory" },
	[GROUP_PARAM_CPUS] = { "rayStartParams.num-cpus", IN_PARAMS, "num-cpus" },
	[GROUP_PARAM_MEMORY] = { "rayStartParams.memory", IN_PARAMS, "memory" },
	[GROUP_PARAM_STORE] = { "rayStartParams.object-store-memory", IN_PARAMS, "object-store-memory" },
	[GROUP_CPUS] = { "resources.CPU", IN_RESOURCES, "CPU" },
	[GROUP_MEMORY] = { "resources.memory", IN_RESOURCES, "memory" },
	[GROUP_ENV_THRESHOLD] = { "env.RAY_memory_usage_threshold", IN_ENV, "RAY_memory_usage_threshold" },
	[GROUP_ENV_REFRESH] = { "env.RAY_memory_monitor_refresh_ms", IN_ENV, "RAY_memory_monitor_refresh_ms" },
};
/* clang-format on */

const char *group_field_name(enum group_field field)
{
	return fields[field].name;
}

bool group_field_in_list(enum group_field field)
{
	return fields[field].place == IN_LIMITS || fields[field].place == IN_ENV;
}

bool group_field_is_budget(enum group_field field)
{
	return field == GROUP_PARAM_MEMORY || field == GROUP_PARAM_STORE || field == GROUP_MEMORY;
}

enum memory_mode group_field_mode(enum group_field field, struct memory_modes modes)
{
	return group_field_is_budget(field) ? modes.budgets : modes.settings;
}

bool group_value_is_valid(enum group_field field, const char *text)
{
	int64_t bytes;

	if (!*text || strlen(text) >= GROUP_VALUE_MAX)
		return false;
	if (field == GROUP_LIMIT)
		return quantity_parse(text, &bytes, NULL) == 0 && bytes > 0 && bytes <= LIMIT_MAX;
	/* A fraction is printed with %g. */
	return strspn(text, field == GROUP_ENV_THRESHOLD ? "0123456789.e-" : "0123456789") ==
	       strlen(text);
}

bool group_values_empty(const struct group_values *values)
{
	for (int f = 0; f < GROUP_FIELD_COUNT; f++)
		if (*values->text[f])
			return false;
	return true;
}

static cJSON *group_memory_container_of(const cJSON *group)
{
	return ray_container(json_get(group, "template.spec"));
}

cJSON *group_field_get(const cJSON *group, enum group_field field)
{
	const char *key = fields[field].key;
	cJSON *item = NULL;

	switch (fields[field].place) {
	case IN_PARAMS:
		item = cJSON_GetObjectItemCaseSensitive(json_get(group, "rayStartParams"), key);
		break;
	case IN_RESOURCES:
		item = cJSON_GetObjectItemCaseSensitive(json_get(group, "resources"), key);
		break;
	case IN_LIMITS:
		item = cJSON_GetObjectItemCaseSensitive(
			json_get(group_memory_container_of(group), "resources.limits"), key);
		break;
	/* It returns the entry, because a variable may have a valueFrom in place of a value. */
	case IN_ENV:
		return container_env(group_memory_container_of(group), key);
	}
	return cJSON_IsNull(item) ? NULL : item;
}

bool group_field_is(const cJSON *group, enum group_field field, const char *text)
{
	const cJSON *item = group_field_get(group, field);

	if (!item || !*text)
		return false;
	const char *have = fields[field].place == IN_ENV ? json_str(item, "value") :
							   cJSON_GetStringValue(item);
	return have && strcmp(have, text) == 0;
}

static void set_env(cJSON *container, const char *key, const char *text)
{
	cJSON *entry = container_env(container, key);

	if (!*text)
		cJSON_Delete(cJSON_DetachItemViaPointer(json_get(container, "env"), entry));
	else if (entry)
		json_set_str(entry, "value", text);
	else
		container_env_default(container, key, text);
}

void group_field_set(cJSON *group, enum group_field field, const char *text)
{
	const char *key = fields[field].key;
	cJSON *map = NULL;

	switch (fields[field].place) {
	case IN_PARAMS:
		map = json_object_at(group, "rayStartParams");
		break;
	case IN_RESOURCES:
		map = json_object_at(group, "resources");
		break;
	case IN_LIMITS:
		map = json_object_at(json_object_at(group_memory_container_of(group), "resources"),
				     "limits");
		break;
	case IN_ENV:
		set_env(group_memory_container_of(group), key, text);
		return;
	}
	if (*text)
		json_set_str(map, key, text);
	else
		cJSON_DeleteItemFromObjectCaseSensitive(map, key);
}

/* Returns whether the value in the field is the user's. */
static bool is_users(const cJSON *group, enum group_field field, const struct group_values *ours)
{
	return group_field_get(group, field) &&
	       !(ours && group_field_is(group, field, ours->text[field]));
}

/* Returns 0 if it is absent, and -1 if a container cannot have that amount. */
static int64_t group_memory_quantity_of(const cJSON *item)
{
	int64_t bytes;

	if (!item || cJSON_IsNull(item))
		return 0;
	if (cJSON_IsNumber(item))
		return item->valuedouble >= 1 && item->valuedouble <= (double)LIMIT_MAX ?
			       (int64_t)item->valuedouble :
			       -1;
	if (!cJSON_IsString(item) || strlen(item->valuestring) > 64 ||
	    quantity_parse(item->valuestring, &bytes, NULL) < 0)
		return -1;
	return bytes > 0 && bytes <= LIMIT_MAX ? bytes : -1;
}

static bool is_map_or_absent(const cJSON *item)
{
	return !item || cJSON_IsNull(item) || cJSON_IsObject(item);
}

static bool is_list_or_absent(const cJSON *item)
{
	return !item || cJSON_IsNull(item) || cJSON_IsArray(item);
}

/*
 * Returns whether the group has the right types. json_object_at and similar functions would replace
 * a wrong one.
 */
static bool is_well_formed(const cJSON *group)
{
	const cJSON *container = group_memory_container_of(group),
		    *resources = json_get(container, "resources");

	return cJSON_IsObject(group) &&
	       cJSON_IsArray(json_get(group, "template.spec.containers")) &&
	       cJSON_IsObject(container) && is_map_or_absent(json_get(group, "rayStartParams")) &&
	       is_map_or_absent(json_get(group, "resources")) && is_map_or_absent(resources) &&
	       is_map_or_absent(json_get(resources, "limits")) &&
	       is_map_or_absent(json_get(resources, "requests")) &&
	       is_list_or_absent(json_get(container, "env")) &&
	       is_list_or_absent(json_get(container, "volumeMounts"));
}

int64_t group_limit(const cJSON *group, const struct group_values *ours)
{
	if (!is_well_formed(group))
		return -1;
	return is_users(group, GROUP_LIMIT, ours) ?
		       group_memory_quantity_of(group_field_get(group, GROUP_LIMIT)) :
		       0;
}

bool group_uses_resources(const cJSON *group, const struct group_values *ours)
{
	const cJSON *resources = json_get(group, "resources");

	if (!cJSON_IsObject(resources))
		return false;
	json_each(item, resources)
		if (!(ours && strcmp(item->string, "CPU") == 0 &&
		      group_field_is(group, GROUP_CPUS, ours->text[GROUP_CPUS])) &&
		    !(ours && strcmp(item->string, "memory") == 0 &&
		      group_field_is(group, GROUP_MEMORY, ours->text[GROUP_MEMORY])))
			return true;
	return false;
}

/*
 * Returns whether the user has set resources in both places. KubeRay refuses such a group in any
 * case.
 */
static bool is_contradictory(const cJSON *group, const struct group_values *ours)
{
	const cJSON *params = json_get(group, "rayStartParams");
	const char *gpus = json_member(params, "num-gpus"),
		   *custom = json_member(params, "resources");

	return group_uses_resources(group, ours) &&
	       ((gpus && *gpus) || (custom && *custom) || is_users(group, GROUP_PARAM_CPUS, ours) ||
		is_users(group, GROUP_PARAM_MEMORY, ours));
}

/*
 * Returns whether the group has resources that tasks request by name. By default such a task
 * requests a CPU, too, and without CPUs it would wait for ever.
 */
static bool has_own_resources(const cJSON *group)
{
	const char *gpus = json_member(json_get(group, "rayStartParams"), "num-gpus");
	const char *custom = json_member(json_get(group, "rayStartParams"), "resources");

	if ((gpus && *gpus && strcmp(gpus, "0") != 0) || (custom && *custom))
		return true;
	json_each(item, json_get(group, "resources"))
		if (strcasecmp(item->string, "cpu") != 0 && strcasecmp(item->string, "memory") != 0)
			return true;
	json_each(item, json_get(group_memory_container_of(group), "resources.limits"))
		if (resource_is_gpu(item->string) || strcmp(item->string, "google.com/tpu") == 0 ||
		    strcmp(item->string, "aws.amazon.com/neuroncore") == 0)
			return true;
	return false;
}

static void copy_param(const cJSON *group, const char *name, cJSON *params)
{
	const cJSON *item =
		cJSON_GetObjectItemCaseSensitive(json_get(group, "rayStartParams"), name);

	if (item && !cJSON_IsNull(item))
		json_set_str(params, name, cJSON_IsString(item) ? item->valuestring : "");
}

/* Copies the resources. `resources` has precedence over rayStartParams, in upper and lower case. */
static void copy_resources(const cJSON *group, const struct group_values *ours, cJSON *params)
{
	char text[GROUP_VALUE_MAX];

	json_each(item, json_get(group, "resources")) {
		if (strcasecmp(item->string, "cpu") == 0) {
			if (strcmp(item->string, "CPU") != 0 || is_users(group, GROUP_CPUS, ours))
				json_set_str(params, "num-cpus", "");
		} else if (strcasecmp(item->string, "memory") == 0) {
			snprintf(text, sizeof(text), "%lld",
				 (long long)MAX(group_memory_quantity_of(item), 0));
			if (strcmp(item->string, "memory") != 0 ||
			    is_users(group, GROUP_MEMORY, ours))
				json_set_str(params, "memory", text);
		}
	}
}

/* Returns the group's parameters that memory_apply reads, without ours. */
static cJSON *users_params(const cJSON *group, const struct group_values *ours)
{
	cJSON *params = cJSON_CreateObject();

	for (enum group_field f = GROUP_PARAM_CPUS; f <= GROUP_PARAM_STORE; f++)
		if (is_users(group, f, ours))
			copy_param(group, fields[f].key, params);
	copy_param(group, "plasma-directory", params);
	copy_resources(group, ours, params);
	return params;
}

static void copy_shm(const cJSON *group, cJSON *pod_spec, cJSON *container)
{
	const cJSON *mount = json_find(json_get(group_memory_container_of(group), "volumeMounts"),
				       "mountPath", "/dev/shm");
	const cJSON *volume = json_find(json_get(group, "template.spec.volumes"), "name",
					json_str(mount, "name"));

	if (!volume || group_memory_quantity_of(json_get(volume, "emptyDir.sizeLimit")) <= 0)
		return;
	json_append(json_array_at(container, "volumeMounts"), cJSON_Duplicate(mount, true));
	json_append(json_array_at(pod_spec, "volumes"), cJSON_Duplicate(volume, true));
}

/*
 * Returns the parts of the group's pod that memory_apply reads, without our values. These are few
 * fields, however large the pod is.
 */
static cJSON *users_pod(const cJSON *group, const struct group_values *ours)
{
	cJSON *pod_spec = cJSON_CreateObject(), *container = cJSON_CreateObject();
	cJSON *resources = json_object_at(container, "resources"),
	      *env = json_array_at(container, "env");
	const cJSON *request =
		json_get(group_memory_container_of(group), "resources.requests.memory");

	if (is_users(group, GROUP_LIMIT, ours))
		json_set(json_object_at(resources, "limits"), "memory",
			 cJSON_Duplicate(group_field_get(group, GROUP_LIMIT), false));
	if (request)
		json_set(json_object_at(resources, "requests"), "memory",
			 cJSON_Duplicate(request, false));
	for (enum group_field f = GROUP_ENV_THRESHOLD; f <= GROUP_ENV_REFRESH; f++)
		if (is_users(group, f, ours))
			json_append(env, json_named_new(fields[f].key));
	if (container_env(group_memory_container_of(group), "RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"))
		json_append(env, json_named_new("RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE"));
	copy_shm(group, pod_spec, container);
	json_append(json_array_at(pod_spec, "containers"), container);
	return pod_spec;
}

static void group_memory_take(struct group_values *want, enum group_field field, const char *text)
{
	if (text && group_value_is_valid(field, text))
		snprintf(want->text[field], sizeof(want->text[field]), "%s", text);
}

static void take_param(const cJSON *before, const cJSON *after, const char *name,
		       struct group_values *want, enum group_field field)
{
	if (!json_member(before, name))
		group_memory_take(want, field, json_member(after, name));
}

static void take_env(const cJSON *group, const struct group_values *ours, const cJSON *container,
		     struct group_values *want)
{
	for (enum group_field f = GROUP_ENV_THRESHOLD; f <= GROUP_ENV_REFRESH; f++)
		if (!is_users(group, f, ours))
			group_memory_take(
				want, f,
				json_str(container_env(container, fields[f].key), "value"));
}

struct own_sizing group_own_sizing(const cJSON *group, bool cluster_keeps_command)
{
	bool keeps_command = cluster_keeps_command ||
			     keeps_own_command(json_get(group, "template.metadata.annotations"));

	return own_sizing_of(group_memory_container_of(group), json_get(group, "rayStartParams"),
			     keeps_command);
}

static struct policy policy_for(const cJSON *group, const struct group_context *cx)
{
	struct policy policy = *cx->policy;

	if (!cx->lists) {
		policy.memory.usage_threshold = 0;
		policy.memory.monitor_refresh_ms = -1;
	}
	/* Pod-level resources limit the containers', and our limit might exceed them. */
	if (!cx->lists || json_get(group, "template.spec.resources"))
		policy.memory.worker_memory_limit = 0;
	return policy;
}

/*
 * Returns whether budgets are the author's affair: he sizes the memory, or perhaps does, and they
 * are not ours already.
 */
static bool keeps_memory(struct own_sizing own, const struct group_values *ours)
{
	bool is_ours = ours && (*ours->text[GROUP_PARAM_MEMORY] || *ours->text[GROUP_MEMORY] ||
				*ours->text[GROUP_PARAM_STORE]);

	return own.memory || (own.unseen && !is_ours);
}

bool group_plan(const cJSON *group, const struct group_values *ours, const struct group_context *cx,
		struct group_values *ret_want, cJSON *notes)
{
	_cleanup_json_ cJSON *before = NULL, *params = NULL, *pod_spec = NULL;
	struct own_sizing own = group_own_sizing(group, cx->cluster_keeps_command);
	struct policy policy = policy_for(group, cx);
	bool by_resources = group_uses_resources(group, ours);
	int64_t limit = group_limit(group, ours);
	struct memory_request request = { .node = cx->node,
					  .group = cx->name,
					  .policy = &policy,
					  .keeps_memory = keeps_memory(own, ours) };

	*ret_want = (struct group_values){ 0 };
	if (cx->resized || limit < 0 ||
	    group_memory_quantity_of(
		    json_get(group_memory_container_of(group), "resources.requests.memory")) < 0 ||
	    is_contradictory(group, ours))
		return false;
	before = users_params(group, ours);
	params = cJSON_Duplicate(before, true);
	pod_spec = users_pod(group, ours);
	if (!ray_container(pod_spec) || !params)
		return false;
	request.keeps_cpus = cx->head_runs_tasks || own.cpus || has_own_resources(group);
	memory_apply(pod_spec, params, &request, notes);
	take_param(before, params, "num-cpus", ret_want,
		   by_resources ? GROUP_CPUS : GROUP_PARAM_CPUS);
	if (!request.keeps_memory) {
		take_param(before, params, "memory", ret_want,
			   by_resources ? GROUP_MEMORY : GROUP_PARAM_MEMORY);
		take_param(before, params, "object-store-memory", ret_want, GROUP_PARAM_STORE);
	}
	take_env(group, ours, ray_container(pod_spec), ret_want);
	if (!limit)
		group_memory_take(ret_want, GROUP_LIMIT,
				  json_str(ray_container(pod_spec), "resources.limits.memory"));
	ret_want->limit = MAX(group_memory_quantity_of(
				      json_get(ray_container(pod_spec), "resources.limits.memory")),
			      0);
	return true;
}
