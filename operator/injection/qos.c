/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the quality of service class of a pod. */
#include "operator/injection/qos.h"

#include <stdint.h>
#include <stdio.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"

static const char *const counted[] = { "cpu", "memory" };

/* Returns the quantity in thousandths; -1 if it is missing or invalid. */
static int64_t quantity(const cJSON *list, const char *name)
{
	const cJSON *value = json_get(list, name);
	char number[32];
	int64_t milli;

	if (cJSON_IsNumber(value))
		snprintf(number, sizeof(number), "%.15g", value->valuedouble);
	const char *text = cJSON_IsNumber(value) ? number : cJSON_GetStringValue(value);
	return text && quantity_parse_milli(text, &milli, NULL) == 0 ? milli : -1;
}

static bool is_equalized(const cJSON *container)
{
	const cJSON *limits = json_get(container, "resources.limits"), *requests = json_get(container, "resources.requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		int64_t limit = quantity(limits, counted[i]), request = quantity(requests, counted[i]);
		if (limit <= 0 || (json_get(requests, counted[i]) && request != limit))
			return false;
	}
	return true;
}

static bool are_equalized(const cJSON *containers)
{
	const cJSON *container;

	cJSON_ArrayForEach(container, containers)
		if (!is_equalized(container))
			return false;
	return true;
}

bool qos_is_guaranteed(const cJSON *pod_spec)
{
	return are_equalized(json_get(pod_spec, "containers")) && are_equalized(json_get(pod_spec, "initContainers"));
}

bool qos_is_of_pod(const cJSON *pod_spec)
{
	return json_get(pod_spec, "resources.limits") || json_get(pod_spec, "resources.requests");
}

void qos_equalize(cJSON *resources, const char *cpu, const char *memory)
{
	const char *const fallback[] = { cpu, memory };
	cJSON *limits = json_object_at(resources, "limits"), *requests = json_object_at(resources, "requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		int64_t least;
		if (quantity_parse_milli(fallback[i], &least, NULL) < 0)
			least = 0;
		if (!json_get(limits, counted[i]))
			json_set(limits, counted[i],
				 quantity(requests, counted[i]) > least ? cJSON_Duplicate(json_get(requests, counted[i]), true)
									: cJSON_CreateString(fallback[i]));
		json_set(requests, counted[i], cJSON_Duplicate(json_get(limits, counted[i]), true));
	}
}
