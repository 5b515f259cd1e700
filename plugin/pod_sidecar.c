/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sidecar in a pod's JSON. */
#include "plugin/pod_sidecar.h"

#include <string.h>

#include "lib/json.h"
#include "lib/sidecar_names.h"

#define PORT_MAX 65535

const cJSON *pod_sidecar(const cJSON *pod)
{
	return json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER) ?:
		       json_find(json_get(pod, "spec.initContainers"), "name", SIDECAR_CONTAINER);
}

static const cJSON *argument(const cJSON *sidecar, const char *text)
{
	json_each(arg, json_get(sidecar, "args"))
		if (cJSON_IsString(arg) && strcmp(arg->valuestring, text) == 0)
			return arg;
	return NULL;
}

const char *pod_sidecar_value(const cJSON *sidecar, const char *option)
{
	const cJSON *arg = argument(sidecar, option);

	return arg ? cJSON_GetStringValue(arg->next) : NULL;
}

bool pod_sidecar_has_flag(const cJSON *sidecar, const char *option)
{
	return argument(sidecar, option) != NULL;
}

int pod_sidecar_port(const cJSON *sidecar)
{
	const cJSON *port = json_find(json_get(sidecar, "ports"), "name", SIDECAR_HTTP_PORT);
	int64_t number = json_int(port, "containerPort", 0);

	return number > 0 && number <= PORT_MAX ? (int)number : 0;
}

const char *annotation_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.annotations"), name));
}

const char *label_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(
		cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.labels"), name));
}
