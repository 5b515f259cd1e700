/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the kubelet killed a container for a failed probe. */
#include "operator/fate/probe_kill.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/ended_by.h"
#include "operator/failures/termination.h"

/*
 * This is not a probe, but the Event has the same form: a container with a failed postStart hook
 * did not start.
 */
#define POST_START "postStart hook"

/*
 * Returns whether `ray start` may have sent the SIGKILL: when asked to stop, it kills a raylet that
 * hangs, and a raylet that hangs fails its probe.
 */
static bool may_be_ray_starts_kill(const struct ray_failure *f)
{
	return (f->class == FAILURE_RAYLET_FAILED || f->class == FAILURE_GCS_FAILED) &&
	       !f->container_lives && f->first.name && TEXT_IS_ONE_OF(f->first.signal, "SIGKILL") &&
	       f->confidence != CONFIDENCE_CERTAIN;
}

bool probe_kill_possible(const struct ray_failure *f)
{
	/* When asked to stop, some commands exit with a code of their own. */
	bool fits = IS_ONE_OF(f->class, FAILURE_KILLED, FAILURE_TERMINATED,
			      FAILURE_APPLICATION_ERROR, FAILURE_UNKNOWN);

	return ray_failure_text(f->pod_uid) && f->namespace && (fits || may_be_ray_starts_kill(f));
}

static bool is_within(const cJSON *event, const char *member, int64_t from_ns, int64_t to_ns)
{
	int64_t ns;

	return json_time(event, member, &ns) && ns >= from_ns && ns <= to_ns;
}

/*
 * Returns whether the Event belongs to this instance. The kubelet writes the Event and reads the
 * container's times by one clock, to whole seconds. So an Event of this instance is never before
 * its start or after its end. In the second in which an instance starts, its predecessor may just
 * have been killed: a probe needs longer than that to fail, a hook does not. The kubelet adds later
 * Events to the first, so both ends of the series count.
 */
static bool is_of_its_life(const cJSON *event, const struct ray_failure *f, bool may_be_at_once)
{
	const char *started = ray_failure_text(f->started_at), *ended = f->ended_at;
	bool first = f->restart == 0 || f->restart == RAY_FAILURE_NONE;
	int64_t from = 0, to;

	if (!ended || time_parse(ended, &to, NULL) < 0 ||
	    (started && time_parse(started, &from, NULL) < 0))
		return false;
	if (started && !first && !may_be_at_once)
		from += NS_PER_SEC;
	return is_within(event, "firstTimestamp", from, to) ||
	       is_within(event, "lastTimestamp", from, to);
}

/* Returns what the Event says if it has that reason and is about the container; NULL if not. */
static const char *event_message(const cJSON *event, const struct ray_failure *f,
				 const char *reason)
{
	const char *path = json_str(event, "involvedObject.fieldPath");
	const char *container = ray_failure_text(f->container);
	char wanted[128];

	if (!path || !container || !json_is(event, "reason", reason) ||
	    !json_is(event, "involvedObject.uid", ray_failure_text(f->pod_uid)))
		return NULL;
	snprintf(wanted, sizeof(wanted), "{%s}", container);
	return strstr(path, wanted) ? json_str(event, "message") : NULL;
}

/*
 * Returns what failed, as the end of "its ... failed", from "Container ray-worker failed liveness
 * probe, will be restarted".
 */
static const char *what_failed(const cJSON *event, const struct ray_failure *f)
{
	const char *message = event_message(event, f, "Killing");
	const char *what = !message				       ? NULL :
			   strstr(message, "failed liveness probe")    ? "liveness probe" :
			   strstr(message, "failed startup probe")     ? "startup probe" :
			   strcmp(message, "FailedPostStartHook") == 0 ? POST_START :
									 NULL;

	return what && is_of_its_life(event, f, strcmp(what, POST_START) == 0) ? what : NULL;
}

static void add_event(struct ray_failure *f, const char *reason, const char *message)
{
	char text[512], tame[300];

	text_tame(message, tame, sizeof(tame));
	snprintf(text, sizeof(text), "%s: %s", reason, tame);
	ray_failure_add_evidence(f, "pod event", text);
}

/*
 * The kubelet writes how the probe failed, such as its timeout, into an Event of its own. There is
 * one for each way in which it failed, and the last one led to the kill.
 */
static void add_probes_words(struct ray_failure *f, const char *what, const cJSON *events)
{
	const char *words = NULL;
	int64_t said_ns = 0, at_ns;

	json_each(event, json_get(events, "items")) {
		const char *message = event_message(event, f, "Unhealthy");

		if (message && strncasecmp(message, what, strlen(what)) == 0 &&
		    is_of_its_life(event, f, false) && json_time(event, "lastTimestamp", &at_ns) &&
		    at_ns > said_ns) {
			words = message;
			said_ns = at_ns;
		}
	}
	if (words)
		add_event(f, "Unhealthy", words);
}

static void set_sender(struct ray_failure *f, const char *what, const cJSON *event)
{
	struct ended_by by = { 0 };
	char text[512];

	snprintf(text, sizeof(text), "its %s failed", what);
	ended_by_init(&by, ENDED_BY_KUBELET, "Node", ray_failure_text(f->node), text);
	json_time(event, "lastTimestamp", &by.at_ns);
	f->ended_by = by;
}

/*
 * Whether the sidecar says that memory.high had slowed the container down. A container that hangs
 * fails its probe.
 */
static bool was_slowed_down(const struct ray_failure *f)
{
	for (size_t i = 0; i < f->evidence.n; i++)
		if (TEXT_IS_ONE_OF(f->evidence.list[i].subject, EVIDENCE_MEMORY_HIGH))
			return true;
	return false;
}

static void become(struct ray_failure *f, const char *what, const cJSON *event)
{
	char text[512];

	add_event(f, "Killing", json_str(event, "message"));
	snprintf(
		text, sizeof(text),
		"Container %.63s of %.253s was most likely killed by the kubelet: an Event says that its %s failed%s",
		f->container, ray_failure_text(f->pod) ?: "?", what,
		was_slowed_down(f) ? ", and its sidecar says that memory.high had slowed it down" :
				     "");
	ray_failure_set(&f->verdict, text);
	f->class = strcmp(what, POST_START) == 0 ? FAILURE_START_FAILURE : FAILURE_PROBE_KILLED;
	/* Anybody who may create Events in the namespace can forge one of the kubelet's. */
	f->confidence = CONFIDENCE_LIKELY;
	set_sender(f, what, event);
	ray_failure_drop_missing(f, "who sent the signal");
	ray_failure_add_missing(
		f, "proof that the kubelet wrote the Event: others may write such Events as well",
		"the kubelet's log on the node");
}

bool probe_kill_refine(struct ray_failure *failure, const cJSON *events)
{
	json_each(event, json_get(events, "items")) {
		const char *what = what_failed(event, failure);

		if (what) {
			become(failure, what, event);
			add_probes_words(failure, what, events);
			return true;
		}
	}
	return false;
}
