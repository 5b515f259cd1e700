/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises ends of containers that did not happen, but were filled in by the kubelet. */
#include "operator/failures/made_up_end.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/failures/shown_ends.h"

bool made_up_is_lost(const cJSON *terminated)
{
	return json_is(terminated, "reason", "ContainerStatusUnknown");
}

bool made_up_end(const cJSON *terminated)
{
	const char *id = json_str(terminated, "containerID");

	return made_up_is_lost(terminated) && !(id && *id) && !json_str(terminated, "startedAt");
}

const cJSON *made_up_forgotten(const cJSON *status)
{
	const cJSON *last = json_get(status, "lastState.terminated"),
		    *ended = json_get(status, "state.terminated");

	return made_up_is_lost(last) && (cJSON_IsObject(json_get(status, "state.waiting")) ||
					 made_up_end(ended)) ?
		       last :
		       NULL;
}

bool made_up_had_run(const cJSON *status)
{
	const char *id = json_str(status, "containerID");

	/* A container that waits to be started again has the ID of the previous instance. */
	return !made_up_end(json_get(status, "state.terminated")) ||
	       (id && *id && !json_is(status, "lastState.terminated.containerID", id));
}

int64_t made_up_restart_of(const cJSON *pod, const cJSON *status, bool current)
{
	bool counted = !shown_next_is_there(status);
	int64_t count = json_int(status, "restartCount", 0);

	if (!current && made_up_forgotten(status))
		counted = json_str(pod, "metadata.deletionTimestamp");
	return current || counted ? count : MAX(count - 1, 0);
}
