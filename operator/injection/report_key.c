/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a pod the key with which its sidecar signs. */
#include "operator/injection/report_key.h"

#include <openssl/rand.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "operator/injection/inject.h"
#include "operator/kube/object.h"
#include "operator/podspec/pod_spec.h"

void report_key_new(char ret_key[static REPORT_KEY_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[REPORT_KEY_LEN / 2];

	*ret_key = '\0';
	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret_key[2 * i] = digits[bytes[i] >> 4];
		ret_key[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_key[REPORT_KEY_LEN] = '\0';
}

/* Whether the field is the annotation, or all of them. */
static bool field_has_key(const cJSON *field_ref)
{
	static const char all[] = "metadata.annotations";
	const char *path = json_str_or(field_ref, "fieldPath", "");

	return strcmp(path, all) == 0 ||
	       (strncmp(path, all, strlen(all)) == 0 && strstr(path, REPORT_KEY_ANNOTATION));
}

static bool files_have_key(const cJSON *downward)
{
	json_each(item, json_get(downward, "items"))
		if (field_has_key(json_get(item, "fieldRef")))
			return true;
	return false;
}

static bool volume_has_key(const cJSON *volume)
{
	json_each(source, json_get(volume, "projected.sources"))
		if (files_have_key(json_get(source, "downwardAPI")))
			return true;
	return files_have_key(json_get(volume, "downwardAPI"));
}

static bool container_has_key(const cJSON *pod_spec, const cJSON *container)
{
	json_each(variable, json_get(container, "env"))
		if (field_has_key(json_get(variable, "valueFrom.fieldRef")))
			return true;
	json_each(mount, json_get(container, "volumeMounts"))
		if (volume_has_key(json_find(json_get(pod_spec, "volumes"), "name",
					     json_str(mount, "name"))))
			return true;
	return false;
}

const char *report_key_leak(const cJSON *pod_spec, const cJSON *ray)
{
	static const char *const lists[] = { "containers", "initContainers" };

	if (container_has_key(pod_spec, ray))
		return "its Ray container gets the annotations of its pod (downward API)";
	if (pod_tracer(pod_spec))
		return "a container sees the sidecar's processes and may trace them";
	for (size_t i = 0; pod_shares_processes(pod_spec) && i < ARRAY_SIZE(lists); i++)
		json_each(container, json_get(pod_spec, lists[i]))
			if (!json_is(container, "name", SIDECAR_CONTAINER) &&
			    container_has_key(pod_spec, container))
				return "its containers see each other's processes, and one gets "
				       "the annotations of its pod (downward API)";
	return NULL;
}

void report_key_annotate(cJSON *pod, const char *key)
{
	const cJSON *spec = json_get(pod, "spec");

	if (!*key || !inject_is_done(spec))
		return;
	if (report_key_leak(spec, pod_ray_container(spec, json_get(pod, "metadata.annotations"))))
		key = "";
	if (*key || report_key_of(pod))
		json_set_str(json_object_at(json_object_at(pod, "metadata"), "annotations"),
			     REPORT_KEY_ANNOTATION, key);
}

const char *report_key_of(const cJSON *pod)
{
	const char *key = object_annotation(pod, REPORT_KEY_ANNOTATION);

	return key && *key ? key : NULL;
}
