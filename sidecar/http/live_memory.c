/* SPDX-License-Identifier: Apache-2.0 */
/* Makes JSON of the last snapshot of a container. */
#include "sidecar/http/live_memory.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "sidecar/ending/memory_needs.h"
#include "sidecar/report/report_json.h"

void live_memory_add(cJSON *containers, const char *name, const struct observer *o, int64_t now_ns)
{
	const struct snapshot *s = &o->last;

	if (!s->at_ns || json_find(containers, "container", name) ||
	    cJSON_GetArraySize(containers) >= LIVE_MEMORY_CONTAINERS_MAX)
		return;
	cJSON *json = cJSON_CreateObject();
	json_set_str(json, "container", name);
	json_set_int(json, "processCount", s->n_processes);
	json_set(json, "memory",
		 report_json_memory(&s->memory, MAX(now_ns - s->at_ns, (int64_t)0)));
	json_set(json, "components", report_json_components(&s->components));
	cJSON *others = json_object_at(json, "otherProcesses");
	json_set_int(others, "count", s->components.rest_count);
	json_set_int(others, "bytes", s->components.rest_own);
	json_set(json, "processes", report_json_processes(s->top, s->n_top, false));
	if (cJSON_GetArraySize(containers) < LIVE_MEMORY_NEEDS_MAX)
		json_set(json, "needs", memory_needs_json(o));
	json_append(containers, json);
}
