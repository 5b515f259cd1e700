/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from and adds to a pod spec. */
#include "operator/podspec/pod_spec.h"
#include "operator/kube/object.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"

cJSON *ray_container(const cJSON *pod_spec)
{
	return cJSON_GetArrayItem(json_get(pod_spec, "containers"), 0);
}

static bool any_has(const cJSON *words, const char *text)
{
	json_each(word, words)
		if (cJSON_IsString(word) && strstr(word->valuestring, text))
			return true;
	return false;
}

bool container_command_has(const cJSON *container, const char *text)
{
	return any_has(json_get(container, "command"), text) ||
	       any_has(json_get(container, "args"), text);
}

/* Returns whether `ray start` stands in one word, or in two that follow each other. */
static bool runs_ray_start(const cJSON *container)
{
	static const char *const lists[] = { "command", "args" };
	const char *before = "";

	for (size_t i = 0; i < 2; i++) {
		json_each(word, json_get(container, lists[i])) {
			const char *text = cJSON_IsString(word) ? word->valuestring : "",
				   *slash = strrchr(before, '/');

			if (strstr(text, "ray start") ||
			    (strcmp(slash ? slash + 1 : before, "ray") == 0 &&
			     strcmp(text, "start") == 0))
				return true;
			before = text;
		}
	}
	return false;
}

static bool has_start_variable(const cJSON *container)
{
	return container_env(container, RAY_START_VARIABLE) != NULL;
}

static bool is_kuberays_name(const char *name)
{
	return strcmp(name, "ray-head") == 0 || strcmp(name, "ray-worker") == 0;
}

static bool has_kuberays_name(const cJSON *container)
{
	const char *name = json_str(container, "name");

	return name && is_kuberays_name(name);
}

cJSON *pod_ray_container(const cJSON *pod_spec, const cJSON *annotations)
{
	static bool (*const signs[])(
		const cJSON *container) = { has_start_variable, has_kuberays_name, runs_ray_start };
	const char *name = json_member(annotations, RAY_CONTAINER_ANNOTATION);
	cJSON *containers = json_get(pod_spec, "containers"),
	      *container = name ? json_find(containers, "name", name) : NULL;

	if (container)
		return container;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		cJSON_ArrayForEach(container, containers)
			if (signs[i](container))
				return container;
	return cJSON_GetArraySize(containers) == 1 ? containers->child : NULL;
}

const cJSON *pod_container_find(const cJSON *pod_spec, bool (*fn)(const cJSON *container))
{
	static const char *const lists[] = { "containers", "initContainers" };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_each(container, json_get(pod_spec, lists[i]))
			if (fn(container))
				return container;
	return NULL;
}

bool pod_has_sidecar(const cJSON *pod_spec)
{
	return json_find(json_get(pod_spec, "containers"), "name", SIDECAR_CONTAINER) ||
	       json_find(json_get(pod_spec, "initContainers"), "name", SIDECAR_CONTAINER);
}

/*
 * Runtimes take capabilities with and without "CAP_". SYS_ADMIN may give the kernel programs that
 * read all memory, PERFMON samples the stacks of all processes, and with the other two the kernel
 * itself is open.
 */
static bool container_may_trace(const cJSON *container)
{
	static const char *const capabilities[] = { "ALL",     "SYS_PTRACE", "SYS_ADMIN",
						    "PERFMON", "SYS_MODULE", "SYS_RAWIO" };
	const cJSON *security = json_get(container, "securityContext");

	if (json_bool(security, "privileged", false))
		return true;
	json_each(capability, json_get(security, "capabilities.add")) {
		const char *name = cJSON_GetStringValue(capability);

		name += name && strncasecmp(name, "CAP_", 4) == 0 ? 4 : 0;
		for (size_t i = 0; name && i < ARRAY_SIZE(capabilities); i++)
			if (strcasecmp(name, capabilities[i]) == 0)
				return true;
	}
	return false;
}

bool pod_shares_processes(const cJSON *pod_spec)
{
	return json_bool(pod_spec, "shareProcessNamespace", false) ||
	       json_bool(pod_spec, "hostPID", false);
}

const char *pod_tracer(const cJSON *pod_spec)
{
	return pod_shares_processes(pod_spec) ?
		       json_str(pod_container_find(pod_spec, container_may_trace), "name") :
		       NULL;
}

int pod_sidecar_port(const cJSON *pod)
{
	const cJSON *sidecar =
		json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER);
	int64_t port = json_int(json_find(json_get(sidecar, "ports"), "name", SIDECAR_HTTP_PORT),
				"containerPort", 0);

	return port >= 1 && port <= 65535 && !json_bool(pod, "spec.hostNetwork", false) ?
		       (int)port :
		       0;
}

void pod_annotate_ray_container(cJSON *pod_annotations, const char *name)
{
	if (name && !is_kuberays_name(name))
		json_set_str(pod_annotations, RAY_CONTAINER_ANNOTATION, name);
}

const char *pod_ray_container_name(const cJSON *pod)
{
	const cJSON *spec = json_get(pod, "spec"),
		    *container = pod_ray_container(spec, json_get(pod, "metadata.annotations"));
	const char *type = object_label(pod, "ray.io/node-type");

	return type && strcmp(type, POD_TYPE_SUBMITTER) == 0 ?
		       NULL :
		       json_str(container ? container : ray_container(spec), "name");
}

cJSON *container_env(const cJSON *container, const char *name)
{
	return json_find(json_get(container, "env"), "name", name);
}

static cJSON *env_new(cJSON *container, const char *name)
{
	if (container_env(container, name))
		return NULL;
	cJSON *entry = json_named_new(name);
	json_append(json_array_at(container, "env"), entry);
	return container_env(container, name); /* NULL if there was no memory */
}

void container_set_shell(cJSON *container, bool login)
{
	const char *const shell[] = { "/bin/bash", login ? "-cl" : "-c", "--" };

	json_set(container, "command", cJSON_CreateStringArray(shell, 3));
}

void container_set_resources(cJSON *container, const char *cpu, const char *cpu_limit,
			     const char *memory, const char *memory_limit)
{
	cJSON *resources = cJSON_CreateObject();
	cJSON *requests = json_object_at(resources, "requests"),
	      *limits = json_object_at(resources, "limits");

	json_set_str(requests, "cpu", cpu);
	json_set_str(requests, "memory", memory);
	if (cpu_limit)
		json_set_str(limits, "cpu", cpu_limit);
	json_set_str(limits, "memory", memory_limit);
	json_set(container, "resources", resources);
}

void container_env_default(cJSON *container, const char *name, const char *value)
{
	cJSON *entry = env_new(container, name);

	if (entry)
		json_set_str(entry, "value", value);
}

void container_env_field_default(cJSON *container, const char *name, const char *field_path)
{
	cJSON *entry = env_new(container, name);

	if (entry)
		json_set_str(json_object_at(json_object_at(entry, "valueFrom"), "fieldRef"),
			     "fieldPath", field_path);
}

void container_mount_default(cJSON *container, const char *volume, const char *path, int read_only)
{
	cJSON *mounts = json_array_at(container, "volumeMounts"), *mount;

	if (json_find(mounts, "mountPath", path))
		return;
	mount = json_named_new(volume);
	json_set_str(mount, "mountPath", path);
	if (read_only)
		json_set(mount, "readOnly", cJSON_CreateTrue());
	json_append(mounts, mount);
}

void pod_volume_default(cJSON *pod_spec, cJSON *volume)
{
	cJSON *volumes = json_array_at(pod_spec, "volumes");

	if (json_find(volumes, "name", json_str(volume, "name")))
		cJSON_Delete(volume);
	else
		json_append(volumes, volume);
}
