/* SPDX-License-Identifier: Apache-2.0 */
/* Makes Events about requests that no Ray node can have since memory safety changed the cluster. */
#include "operator/failures/infeasible.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/failures/termination.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"

#define SETTINGS_MAX 400
#define SETTING_MAX 128
#define OTHERS ", and others"

/* Ray's word for a resource in a request, and the setting that decides how much of it there is. */
static const struct {
	const char *resource, *setting;
} settings[] = {
	{ "'CPU'", "rayStartParams.num-cpus" },
	{ "'memory'", "rayStartParams.memory" },
	{ "'object_store_memory'", "rayStartParams.object-store-memory" },
};

void infeasible_take(const cJSON *warnings, char ret_request[static INFEASIBLE_REQUEST_MAX])
{
	const cJSON *warning = json_find(warnings, "kind", "RequestInfeasible");
	const char *request = json_str(warning, "request");

	text_tame(request ? request : "", ret_request, INFEASIBLE_REQUEST_MAX);
}

/* Appends the settings of a group that the request needs: "num-cpus \"0\" of the head". */
static void add_settings(const cJSON *entry, const char *group, const char *request,
			 char text[static SETTINGS_MAX])
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(json_get(entry, "set"),
								      settings[i].setting);
		size_t len = strlen(text);
		char one[SETTING_MAX];

		if (!strstr(request, settings[i].resource) || !cJSON_IsString(value) ||
		    strstr(text, OTHERS))
			continue;
		snprintf(one, sizeof(one), "%s%s \"%.20s\" of %.63s", len ? ", " : "",
			 strchr(settings[i].setting, '.') + 1, value->valuestring, group);
		/* A cut name would be that of another group. */
		if (len + strlen(one) + sizeof(OTHERS) <= SETTINGS_MAX)
			memcpy(text + len, one, strlen(one) + 1);
		else
			memcpy(text + len, OTHERS, sizeof(OTHERS));
	}
}

cJSON *infeasible_event(const cJSON *object, const cJSON *cluster, const char *request,
			int64_t now_ns)
{
	const char *annotation = object_annotation(cluster, MEMORY_SAFETY_ANNOTATION);
	_cleanup_json_ cJSON *record = NULL;
	char text[SETTINGS_MAX] = "", tame[SETTINGS_MAX], note[900];

	if (!annotation || json_parse(annotation, strlen(annotation), &record, NULL) < 0)
		return NULL;
	add_settings(json_get(record, "head"), "the head", request, text);
	json_each(entry, json_get(record, "workers"))
		add_settings(entry, entry->string, request, text);
	if (!text[0])
		return NULL;
	text_tame(text, tame, sizeof(tame));
	snprintf(
		note, sizeof(note),
		"Ray has said for a minute that its nodes cannot fulfill a request for %s. Memory safety has set what may be why: %s. "
		"A value of yours in rayStartParams wins over it, and the annotation afterglow.dev/memory: \"off\" makes new "
		"clusters do without.",
		request, tame);
	return event_of_object(object, "Warning", "RequestInfeasible", "Schedule", note, now_ns);
}
