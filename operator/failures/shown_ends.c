/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which instances of a container the pod's status shows. */
#include "operator/failures/shown_ends.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"

bool end_time_parse(const char *text, int64_t *ret_ns)
{
	if (!text || time_parse(text, ret_ns, NULL) < 0 || *ret_ns <= 0)
		return false;
	if (!strchr(text, '.'))
		*ret_ns += NS_PER_SEC / 2;
	return true;
}

const cJSON *shown_status(const cJSON *pod, const char *container)
{
	return json_find(json_get(pod, "status.containerStatuses"), "name", container);
}

const char *shown_oldest_text(const cJSON *status)
{
	static const char *const places[] = { "lastState.terminated.startedAt",
					      "state.terminated.startedAt",
					      "state.running.startedAt" };
	int64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (end_time_parse(json_str(status, places[i]), &ns))
			return json_str(status, places[i]);
	return NULL;
}

int64_t shown_oldest_start(const cJSON *status)
{
	int64_t ns;

	return end_time_parse(shown_oldest_text(status), &ns) ? ns : 0;
}

bool shown_next_is_there(const cJSON *status)
{
	const char *id = json_str(status, "containerID"),
		   *last = json_str(status, "lastState.terminated.containerID");

	return !json_get(status, "state.waiting") || (id && last && strcmp(id, last) != 0);
}

int64_t shown_earlier(const cJSON *status)
{
	int64_t restarts = json_int(status, "restartCount", 0);

	if (json_get(status, "lastState.terminated") && shown_next_is_there(status))
		restarts--;
	return MAX(restarts, 0);
}
