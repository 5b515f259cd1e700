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
static const char *const ruled[LIMIT_RULES] = { "cpu", "memory", "ephemeral-storage" };

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
	const cJSON *limits = json_get(container, "resources.limits"),
		    *requests = json_get(container, "resources.requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		int64_t limit = qos_quantity(limits, counted[i]),
			request = qos_quantity(requests, counted[i]);
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
	const cJSON *limits = json_get(container, "resources.limits"),
		    *requests = json_get(container, "resources.requests");

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
	cJSON *limits = json_object_at(resources, "limits"),
	      *requests = json_object_at(resources, "requests");

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		fill_limit(limits, requests, counted[i], fallback[i]);
		json_set(requests, counted[i], cJSON_Duplicate(json_get(limits, counted[i]), true));
	}
}

/*
 * Takes the item's rules over where they are stricter. A minimum or maximum of a whole pod says
 * nothing of one container.
 */
static void limit_rule_add(struct limit_rule *rule, const cJSON *item, const char *name)
{
	int64_t ratio = qos_quantity(json_get(item, "maxLimitRequestRatio"), name);
	int64_t max = qos_quantity(json_get(item, "max"), name);

	/* If the pod's other containers are in a pod's ratio, it is, too. */
	if (ratio >= 1000 && (!rule->ratio || ratio < rule->ratio))
		rule->ratio = ratio;
	if (json_is(item, "type", "Pod"))
		return;
	if (max > 0 && (!rule->max || max < rule->max))
		rule->max = max;
	rule->min = MAX(rule->min, qos_quantity(json_get(item, "min"), name));
}

void qos_add_rules(struct limit_rules *rules, const cJSON *limit_range)
{
	json_each(item, json_get(limit_range, "spec.limits"))
		for (size_t i = 0; i < LIMIT_RULES; i++)
			if (TEXT_IS_ONE_OF(json_str(item, "type"), "Container", "Pod"))
				limit_rule_add(&rules->of[i], item, ruled[i]);
}

static void qos_set(cJSON *list, const char *name, int64_t milli)
{
	char text[QUANTITY_TEXT_MAX];

	json_set_str(list, name,
		     strcmp(name, "cpu") == 0 ? quantity_format_milli(milli, text) :
						quantity_format_bytes((milli + 999) / 1000, text));
}

static void limit_rule_keep(cJSON *resources, const char *name, const struct limit_rule *rule,
			    const char *fallback)
{
	cJSON *limits = json_object_at(resources, "limits");
	cJSON *requests = json_object_at(resources, "requests");
	/* Kubernetes takes an absent request from the limit. */
	int64_t request = qos_quantity(json_get(requests, name) ? requests : limits, name);

	/* Without a limit the API server would request as much disk as a container may have. */
	if (rule->ratio || (rule->max && strcmp(name, ruled[LIMIT_RULES - 1]) == 0))
		fill_limit(limits, requests, name, fallback);
	int64_t given = qos_quantity(limits, name);
	int64_t limit = MAX(rule->max && given > rule->max ? rule->max : given, rule->min);
	int64_t least = rule->ratio ? (int64_t)ceil((double)limit * 1000 / (double)rule->ratio) : 0;
	if (given > 0)
		qos_set(limits, name, limit);
	least = MAX(MAX(least, rule->min), given > 0 ? MIN(request, limit) : request);
	if (given > 0 || least > 0)
		qos_set(requests, name, least);
}

void qos_keep_rules(cJSON *resources, const struct limit_rules *rules, const char *cpu,
		    const char *memory, const char *disk)
{
	const char *const fallback[LIMIT_RULES] = { cpu, memory, disk };

	for (size_t i = 0; i < LIMIT_RULES; i++)
		if (rules->of[i].min || rules->of[i].max || rules->of[i].ratio)
			limit_rule_keep(resources, ruled[i], &rules->of[i], fallback[i]);
}
