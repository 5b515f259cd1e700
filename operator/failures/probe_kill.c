/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kubelet killed a container for a failed probe. */
#include "operator/failures/probe_kill.h"

#include <stdio.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/failures/death.h"
#include "operator/failures/ended_by.h"
#include "operator/failures/termination.h"

/* Not a probe, but the Event has the same form: a container with a failed postStart hook has not started. */
#define POST_START "postStart hook"

/* Asked to stop, `ray start` kills a raylet that hangs, as one does whose probe fails. */
static bool may_be_ray_starts_kill(const cJSON *failure, int class)
{
	const char *signal = json_str(failure, "spec.process.signal"), *confidence = json_str(failure, "spec.confidence");

	return (class == FAILURE_RAYLET_FAILED || class == FAILURE_GCS_FAILED) && !json_bool(failure, "spec.containerLives", false) && signal &&
	       strcmp(signal, "SIGKILL") == 0 && confidence && strcmp(confidence, confidence_name(CONFIDENCE_CERTAIN)) != 0;
}

bool probe_kill_possible(const cJSON *failure)
{
	/* Asked to stop, some commands exit with a code of their own. */
	static const enum failure_class open_questions[] = { FAILURE_KILLED, FAILURE_TERMINATED,
							     FAILURE_APPLICATION_ERROR, FAILURE_UNKNOWN };
	int class = failure_class_from_name(json_str(failure, "spec.class"));

	if (may_be_ray_starts_kill(failure, class))
		return json_str(failure, "spec.podUID") && json_str(failure, "metadata.namespace");
	for (size_t i = 0; i < ARRAY_SIZE(open_questions); i++)
		if (class == (int)open_questions[i])
			return json_str(failure, "spec.podUID") && json_str(failure, "metadata.namespace");
	return false;
}

static bool is_within(const cJSON *event, const char *member, int64_t from_ns, int64_t to_ns)
{
	const char *text = json_str(event, member);
	int64_t ns;

	return text && time_parse(text, &ns, NULL) == 0 && ns >= from_ns && ns <= to_ns;
}

/*
 * The kubelet writes the event and reads the times of the container on one clock, to whole seconds: an event of this instance is
 * never before its start or after its end. In the second in which an instance starts, its predecessor may just have been killed:
 * a probe needs longer than that to fail, a hook does not. The kubelet adds later events to the first: both ends of the series
 * count.
 */
static bool is_of_its_life(const cJSON *event, const cJSON *failure, bool may_be_at_once)
{
	const char *started = json_str(failure, "spec.startedAt"), *ended = json_str(failure, "spec.endedAt");
	bool first = json_int(failure, "spec.restartCount", 0) == 0;
	int64_t from = 0, to;

	if (!ended || time_parse(ended, &to, NULL) < 0 || (started && time_parse(started, &from, NULL) < 0))
		return false;
	if (started && !first && !may_be_at_once)
		from += NS_PER_SEC;
	return is_within(event, "firstTimestamp", from, to) || is_within(event, "lastTimestamp", from, to);
}

/* "Container ray-worker failed liveness probe, will be restarted": what failed, as the end of "its ... failed". */
static const char *what_failed(const cJSON *event, const cJSON *failure)
{
	const char *message = json_str(event, "message"), *path = json_str(event, "involvedObject.fieldPath");
	const char *uid = json_str(event, "involvedObject.uid"), *reason = json_str(event, "reason");
	const char *container = json_str(failure, "spec.container");
	const char *what;
	char wanted[128];

	if (!message || !path || !uid || !reason || !container || strcmp(reason, "Killing") != 0 ||
	    strcmp(uid, json_str(failure, "spec.podUID")) != 0)
		return NULL;
	snprintf(wanted, sizeof(wanted), "{%s}", container);
	what = strstr(message, "failed liveness probe")	   ? "liveness probe" :
	       strstr(message, "failed startup probe")	   ? "startup probe" :
	       strcmp(message, "FailedPostStartHook") == 0 ? POST_START :
							     NULL;
	return what && strstr(path, wanted) && is_of_its_life(event, failure, strcmp(what, POST_START) == 0) ? what : NULL;
}

static void drop_missing(cJSON *failure, const char *what)
{
	cJSON *missing = json_get(failure, "spec.missing");

	for (cJSON *gap; (gap = json_find(missing, "what", what));)
		cJSON_Delete(cJSON_DetachItemViaPointer(missing, gap));
	if (missing && !missing->child)
		cJSON_DeleteItemFromObject(json_get(failure, "spec"), "missing");
}

static void become(cJSON *failure, const char *what, const cJSON *event)
{
	const char *class = failure_class_name(strcmp(what, POST_START) == 0 ? FAILURE_START_FAILURE : FAILURE_PROBE_KILLED);
	cJSON *spec = json_get(failure, "spec"), *entry = cJSON_CreateObject();
	const char *pod = json_str(spec, "pod");
	const char *at = json_str(event, "lastTimestamp");
	struct ended_by by = { 0 };
	char text[512], tame[300];

	text_tame(json_str(event, "message"), tame, sizeof(tame));
	snprintf(text, sizeof(text), "Killing: %s", tame);
	json_set_str(entry, "source", "pod event");
	json_set_str(entry, "text", text);
	json_append(json_array_at(spec, "evidence"), entry);
	snprintf(text, sizeof(text), "Container %.63s of %.253s was most likely killed by the kubelet: an Event says that its %s failed",
		 json_str(spec, "container"), pod ? pod : "?", what);
	json_set_str(spec, "verdict", text);
	json_set_str(spec, "class", class);
	/* Anybody who may create Events in the namespace can forge one of the kubelet's. */
	json_set_str(spec, "confidence", confidence_name(CONFIDENCE_LIKELY));
	json_set_str(json_get(failure, "metadata.labels"), "afterglow.dev/class", class);
	snprintf(text, sizeof(text), "its %s failed", what);
	ended_by_init(&by, ENDED_BY_KUBELET, "Node", json_str(spec, "node"), text);
	if (!at || time_parse(at, &by.at_ns, NULL) < 0)
		by.at_ns = 0;
	ended_by_set(&by, spec);
	drop_missing(failure, "who sent the signal");
	death_add_missing(spec, "proof that the kubelet wrote the Event: others may write such Events as well", "the kubelet's log on the node");
}

/* Wholly or, without memory, not at all. */
static bool become_whole(cJSON *failure, const char *what, const cJSON *event)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *changed = cJSON_Duplicate(failure, true);

	become(changed, what, event);
	if (oom_count() != lost)
		return false;
	cJSON *before = failure->child;
	failure->child = changed->child;
	changed->child = before;
	return true;
}

bool probe_kill_refine(cJSON *failure, const cJSON *events)
{
	const cJSON *event;

	cJSON_ArrayForEach(event, json_get(events, "items")) {
		const char *what = what_failed(event, failure);

		if (what)
			return become_whole(failure, what, event);
	}
	return false;
}
