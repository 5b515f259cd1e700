/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from and adds to a pod spec. */
#include "operator/podspec/pod_spec.h"

#include "lib/json.h"

cJSON *ray_container(const cJSON *pod_spec)
{
	return cJSON_GetArrayItem(json_get(pod_spec, "containers"), 0);
}

cJSON *container_env(const cJSON *container, const char *name)
{
	return json_find(json_get(container, "env"), "name", name);
}

static cJSON *env_new(cJSON *container, const char *name)
{
	cJSON *entry;

	if (container_env(container, name))
		return NULL;
	entry = cJSON_CreateObject();
	json_set_str(entry, "name", name);
	json_append(json_array_at(container, "env"), entry);
	return container_env(container, name); /* NULL if there was no memory */
}

void container_set_shell(cJSON *container, bool login)
{
	const char *const shell[] = { "/bin/bash", login ? "-cl" : "-c", "--" };

	json_set(container, "command", cJSON_CreateStringArray(shell, 3));
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
		json_set_str(json_object_at(json_object_at(entry, "valueFrom"), "fieldRef"), "fieldPath",
			     field_path);
}

void container_mount_default(cJSON *container, const char *volume, const char *path, int read_only)
{
	cJSON *mounts = json_array_at(container, "volumeMounts"), *mount;

	if (json_find(mounts, "mountPath", path))
		return;
	mount = cJSON_CreateObject();
	json_set_str(mount, "name", volume);
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
