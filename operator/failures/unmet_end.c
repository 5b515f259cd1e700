/* SPDX-License-Identifier: Apache-2.0 */
/* Makes reports from what a sidecar says of containers that it never met. */
#include "operator/failures/unmet_end.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/exit_code.h"
#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/podview.h"
#include "operator/failures/shown_ends.h"
#include "operator/failures/termination.h"
#include "operator/podspec/pod_spec.h"

#define CAUSE_MAX 200
/*
 * The kill and the end that the kubelet saw are one event only if they are no further apart. A
 * process gives its memory back before it ends, and the kernel log has a clock of its own.
 */
#define SAME_NS (30 * NS_PER_SEC)
/* A sidecar listens this long after its start at the latest, on a busy node. */
#define LISTENS_WITHIN_NS (10 * NS_PER_SEC)

static bool is_id(const char *text)
{
	return text && strspn(text, "0123456789abcdef") == UNMET_ID_LEN && !text[UNMET_ID_LEN];
}

void unmet_ends_take(const cJSON *json, struct unmet_ends *ret_ends)
{
	struct unmet_ends ends = { .settled = json_bool(json, "settled", true) };
	const cJSON *list = json_get(json, "ends");

	if (cJSON_IsArray(list))
		json_each(entry, list) {
			const char *id = json_str(entry, "containerID");

			if (ends.n == UNMET_ENDS_MAX || !is_id(id) ||
			    !failure_class_is_oom(
				    failure_class_from_name(json_str(entry, "class"))) ||
			    !json_str(entry, "cause"))
				continue;
			memcpy(ends.list[ends.n].container_id, id, UNMET_ID_LEN + 1);
			ends.list[ends.n].entry = cJSON_Duplicate(entry, true);
			if (ends.list[ends.n].entry)
				ends.n++;
		}
	*ret_ends = ends;
}

void unmet_ends_release(struct unmet_ends *ends)
{
	for (size_t i = 0; i < ends->n; i++)
		cJSON_Delete(ends->list[i].entry);
	*ends = (struct unmet_ends){ 0 };
}

/* --- The report ------------------------------------------------------------------------------- */

static const cJSON *entry_of(const struct unmet_ends *ends, const cJSON *terminated)
{
	const char *id = json_str(terminated, "containerID"), *name = id ? strstr(id, "://") : NULL;

	for (size_t i = 0; ends && name && i < ends->n; i++)
		if (strcmp(name + 3, ends->list[i].container_id) == 0)
			return ends->list[i].entry;
	return NULL;
}

static bool is_same_time(const cJSON *entry, const cJSON *terminated)
{
	int64_t killed_ns, ended_ns;

	return end_time_parse(json_str(entry, "endedAt"), &killed_ns) &&
	       end_time_parse(json_str(terminated, "finishedAt"), &ended_ns) &&
	       llabs(killed_ns - ended_ns) <= SAME_NS;
}

static void copy(const cJSON *from, cJSON *to, const char *name)
{
	const cJSON *member = json_get(from, name);

	if (member)
		json_set(to, name, cJSON_Duplicate(member, true));
}

cJSON *unmet_ends_report(const struct unmet_ends *ends, const char *container,
			 const cJSON *terminated)
{
	static const char *const members[] = { "class",	 "confidence", "endedAt",
					       "memory", "evidence",   "missing" };
	const cJSON *entry = entry_of(ends, terminated);
	char cause[CAUSE_MAX], sentence[CAUSE_MAX + 128];
	_cleanup_json_ cJSON *json = NULL;
	cJSON *report = NULL;

	if (!entry || json_int(terminated, "exitCode", 0) != EXIT_CODE_OF_SIGNAL(SIGKILL))
		return NULL;
	json = cJSON_CreateObject();
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		copy(entry, json, members[i]);
	if (!is_same_time(entry, terminated))
		json_set_str(json, "confidence", confidence_name(CONFIDENCE_LIKELY));
	text_tame(json_str(entry, "cause"), cause, sizeof(cause));
	snprintf(sentence, sizeof(sentence), "Container %.63s was killed by the kernel: %s.",
		 container, cause);
	json_set_str(json, "sentence", sentence);
	json_set_int(json, "exitCode", EXIT_CODE_OF_SIGNAL(SIGKILL));
	json_set_str(json, "signal", signal_name(SIGKILL));
	json_set(json, "final", cJSON_CreateTrue());
	return termination_take(json, &report, NULL) == 0 ? report : NULL;
}

/* --- Whether to wait for it ------------------------------------------------------------------- */

static bool is_over(const cJSON *pod)
{
	return json_str(pod, "metadata.deletionTimestamp") ||
	       json_is(pod, "status.phase", "Failed") || json_is(pod, "status.phase", "Succeeded");
}

bool unmet_sidecar_was_away(const cJSON *pod, const cJSON *terminated)
{
	const cJSON *status = shown_status(pod, SIDECAR_CONTAINER);
	int64_t ended_ns, started_ns;

	if (!pod_sidecar_port(pod) || is_over(pod) ||
	    !end_time_parse(json_str(terminated, "finishedAt"), &ended_ns))
		return false;
	if (json_get(status, "state.terminated"))
		return strcmp(json_str_or(pod, "spec.restartPolicy", "Always"), "Always") == 0;
	if (!json_get(status, "state.running"))
		return !podview_cannot_start(json_str(status, "state.waiting.reason"));
	return end_time_parse(json_str(status, "state.running.startedAt"), &started_ns) &&
	       started_ns > ended_ns - LISTENS_WITHIN_NS;
}
