/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the quality of service class of a pod. */
#include "operator/injection/qos.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/podspec/pod_spec.h"
#include "operator/podspec/quantity.h"

static const char *const counted[] = { "cpu", "memory" };

/* Returns the quantity in thousandths; -1 if it is missing or invalid. */
static int64_t qos_quantity(const cJSON *list, const char *name)
{
	const cJSON *value = json_get(list, name);
	char number[32];
	int64_t milli;

	if (cJSON_IsNumber(value))
		snprintf(number, sizeof(number), "%.15g", value->valuedouble);
	const char *text = cJSON_IsNumber(value) ? number : cJSON_GetStringValue(value);
	return text && quantity_parse_milli(text, &milli, NULL) == 0 ? milli : -1;
}

static bool is_not_equalized(const cJSON *container)
{
	const cJSON *limits = json_get(container, "resources.limits"), *requests = json_get(container, "resources.requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		int64_t limit = qos_quantity(limits, counted[i]), request = qos_quantity(requests, counted[i]);
		if (limit <= 0 || (json_get(requests, counted[i]) && request != limit))
			return true;
	}
	return false;
}

bool qos_is_guaranteed(const cJSON *pod_spec)
{
	return !pod_container_find(pod_spec, is_not_equalized);
}

static bool asks_for_something(const cJSON *container)
{
	const cJSON *limits = json_get(container, "resources.limits"), *requests = json_get(container, "resources.requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		if (qos_quantity(limits, counted[i]) > 0 || qos_quantity(requests, counted[i]) > 0)
			return true;
	return false;
}

bool qos_is_best_effort(const cJSON *pod_spec)
{
	return !pod_container_find(pod_spec, asks_for_something);
}

bool qos_is_of_pod(const cJSON *pod_spec)
{
	return json_get(pod_spec, "resources.limits") || json_get(pod_spec, "resources.requests");
}

/* Sets an absent limit to the request, but at least to a fallback. */
static void fill_limit(cJSON *limits, const cJSON *requests, const char *name, const char *fallback)
{
	int64_t least;

	if (quantity_parse_milli(fallback, &least, NULL) < 0)
		least = 0;
	if (!json_get(limits, name))
		json_set(limits, name,
			 qos_quantity(requests, name) > least ?
				 cJSON_Duplicate(json_get(requests, name), true) :
				 cJSON_CreateString(fallback));
}

void qos_equalize(cJSON *resources, const char *cpu, const char *memory)
{
	const char *const fallback[] = { cpu, memory };
	cJSON *limits = json_object_at(resources, "limits"), *requests = json_object_at(resources, "requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		fill_limit(limits, requests, counted[i], fallback[i]);
		json_set(requests, counted[i], cJSON_Duplicate(json_get(limits, counted[i]), true));
	}
}

static void add_ratio(int64_t *ratio, const cJSON *ratios, const char *name)
{
	int64_t milli = qos_quantity(ratios, name);

	if (milli >= 1000 && (!*ratio || milli < *ratio))
		*ratio = milli;
}

void qos_add_ratios(struct limit_ratios *ratios, const cJSON *limit_range)
{
	json_each(item, json_get(limit_range, "spec.limits")) {
		const char *type = json_str(item, "type");

		/* If the pod's other containers are in a pod's ratio, it is, too. */
		if (!type || (strcmp(type, "Container") != 0 && strcmp(type, "Pod") != 0))
			continue;
		add_ratio(&ratios->cpu, json_get(item, "maxLimitRequestRatio"), "cpu");
		add_ratio(&ratios->memory, json_get(item, "maxLimitRequestRatio"), "memory");
	}
}

static void keep_ratio(cJSON *resources, const char *name, int64_t ratio, const char *fallback)
{
	cJSON *limits = json_object_at(resources, "limits"),
	      *requests = json_object_at(resources, "requests");
	bool is_cpu = strcmp(name, "cpu") == 0;
	char text[QUANTITY_TEXT_MAX];

	fill_limit(limits, requests, name, fallback);
	int64_t limit = qos_quantity(limits, name);
	int64_t least = (int64_t)ceil((double)limit * 1000 / (double)ratio);
	if (limit <= 0 || qos_quantity(requests, name) >= least)
		return;
	json_set_str(requests, name,
		     is_cpu ? quantity_format_milli(least, text) :
			      quantity_format_bytes((least + 999) / 1000, text));
}

void qos_keep_ratios(cJSON *resources, const struct limit_ratios *ratios, const char *cpu,
		     const char *memory)
{
	if (ratios->cpu)
		keep_ratio(resources, "cpu", ratios->cpu, cpu);
	if (ratios->memory)
		keep_ratio(resources, "memory", ratios->memory, memory);
}
