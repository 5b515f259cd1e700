/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a group's author says himself how large Ray is. */
#include "operator/raycluster/own_sizing.h"

#include <string.h>
#include <strings.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "operator/podspec/pod_spec.h"

#define RESIZE_ANNOTATION "ray.io/ippr"

struct sizing_word {
	const char *text;
	bool cpus, memory;
};

/* Beginnings of variables that ray_constants.py and resource_and_label_spec.py read. */
static const struct sizing_word variables[] = {
	{ "RAY_OVERRIDE_RESOURCES", true, true },
	{ "RAY_USE_MULTIPROCESSING_CPU_COUNT", true, false },
	{ "RAY_DEFAULT_OBJECT_STORE_", false, true },
	{ "RAY_DEFAULT_SYSTEM_RESERVED_MEMORY_", false, true },
	{ "RAY_DEFAULT_MIN_SYSTEM_RESERVED_MEMORY_", false, true },
	{ "RAY_DEFAULT_MAX_SYSTEM_RESERVED_MEMORY_", false, true },
};

/* Parts of a command. A user's own `ray start` is not given the rayStartParams at all. */
static const struct sizing_word words[] = {
	{ "ray start", true, true },
	{ "--num-cpus", true, false },
	{ "--memory", false, true },
	{ "--object-store-memory", false, true },
};

/* With resource isolation Ray takes what is reserved from the memory for tasks. */
static const char *const isolation_params[] = { "enable-resource-isolation",
						"system-reserved-memory" };

static void add_sizing(struct own_sizing *own, const struct sizing_word *word)
{
	own->cpus |= word->cpus;
	own->memory |= word->memory;
}

struct own_sizing own_sizing_of(const cJSON *container, const cJSON *params, bool keeps_command)
{
	struct own_sizing own = { 0 };

	json_each(item, json_get(container, "env"))
		for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
			if (text_begins_with(json_str(item, "name"), variables[i].text))
				add_sizing(&own, &variables[i]);
	json_each(item, json_get(container, "envFrom")) {
		const char *prefix = json_str(item, "prefix");

		/*
		 * A variable of Ray cannot come with a prefix that is not the beginning of "RAY_",
		 * or has it.
		 */
		own.unseen |= !prefix || text_begins_with("RAY_", prefix) ||
			      text_begins_with(prefix, "RAY_");
	}

	if (keeps_command && !container_command_has(container, RAY_START_VARIABLE))
		own.cpus = own.memory = true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (container_command_has(container, words[i].text))
			add_sizing(&own, &words[i]);

	for (size_t i = 0; i < ARRAY_SIZE(isolation_params); i++)
		own.memory |= cJSON_GetObjectItemCaseSensitive(params, isolation_params[i]) != NULL;
	return own;
}

bool keeps_own_command(const cJSON *annotations)
{
	const char *text = json_member(annotations, OVERWRITE_ANNOTATION);

	return text && strcasecmp(text, "true") == 0;
}

struct resized_groups resized_groups_of(const cJSON *cluster_annotations)
{
	const char *text = json_member(cluster_annotations, RESIZE_ANNOTATION);
	struct resized_groups resized = { 0 };
	_cleanup_json_ cJSON *json = NULL;

	if (!text || !*text)
		return resized;
	resized.all = json_parse(text, strlen(text), &json, NULL) < 0;
	json_each(group, json_get(json, "groups")) {
		void *same = NULL;

		if (!group->string) {
			resized.all = true;
		} else if (strmap_put(&resized.names, group->string, (void *)RESIZE_ANNOTATION,
				      &same) < 0) {
			oom_note();
			resized.all = true;
		}
	}
	return resized;
}

void resized_groups_release(struct resized_groups *resized)
{
	strmap_release(&resized->names, NULL);
}

bool resized_groups_have(const struct resized_groups *resized, const char *group)
{
	return resized->all || strmap_get(&resized->names, group);
}
