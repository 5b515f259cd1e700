/* SPDX-License-Identifier: Apache-2.0 */
/* Refines the failure of a worker whose head ended before it. */
#include "operator/failures/lost_head.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/failures/failures.h"

#define WHEN_MAX (DURATION_TEXT_MAX + 16)
#define SOURCE "the head's failure"

bool lost_head_may_be(const struct story *story)
{
	const struct incident_death *d = &story->death;

	return !d->head && d->ray && !d->lives && d->class == FAILURE_APPLICATION_ERROR &&
	       d->exit_code == 1;
}

/* Says how long before. Clocks of nodes differ, and the kubelet's times have whole seconds. */
static void how_long_before(int64_t ns, char buf[static WHEN_MAX])
{
	if (ns < NS_PER_SEC)
		snprintf(buf, WHEN_MAX, "at about the same time");
	else if (ns < 60 * NS_PER_SEC)
		snprintf(buf, WHEN_MAX, "%d s before", (int)(ns / NS_PER_SEC));
	else
		snprintf(buf, WHEN_MAX, "%s before", DURATION_TEXT(ns));
}

static void add_evidence(const struct incident_death *first, const char *when, cJSON *spec)
{
	char text[700];

	snprintf(text, sizeof(text), "%s of pod %.253s, %s (RayFailure %.253s)",
		 failure_class_name(first->class), first->pod, when, first->name);
	json_append_pair(json_array_at(spec, "evidence"), "source", SOURCE, "text", text);
}

static void add_missing(const char *what, const char *needs, cJSON *spec)
{
	json_append_pair(json_array_at(spec, "missing"), "what", what, "needs", needs);
}

static void become_lost(const struct incident_death *first, const struct incident_death *death,
			const char *when, cJSON *failure)
{
	cJSON *spec = json_get(failure, "spec"),
	      *labels = json_object_at(json_get(failure, "metadata"), "labels");
	char sentence[900];

	snprintf(
		sentence, sizeof(sentence),
		"Container %.63s of %.253s ended with exit code 1, most likely because its head was gone: %s of %.253s %s",
		death->container, death->pod, failure_class_name(first->class), first->pod, when);
	json_set_str(spec, "class", failure_class_name(FAILURE_GCS_LOST));
	json_set_str(labels, "afterglow.dev/class", failure_class_name(FAILURE_GCS_LOST));
	json_set_str(spec, "verdict", sentence);
	add_missing("whether raylet gave up because it lost the GCS",
		    "Ray's logs, by the Afterglow sidecar in the pod", spec);
}

static cJSON *refined_failure(const struct story *story, const struct incident_death *first,
			      const cJSON *failure)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *copy = cJSON_Duplicate(failure, true);
	cJSON *spec = json_get(copy, "spec");
	char when[WHEN_MAX];

	how_long_before(story->death.ended_ns - first->ended_ns, when);
	if (json_is(spec, "confidence", confidence_name(CONFIDENCE_CERTAIN)))
		json_set_str(spec, "confidence", confidence_name(CONFIDENCE_LIKELY));
	if (!story->is_reported)
		become_lost(first, &story->death, when, copy);
	add_evidence(first, when, spec);
	failure_seal(copy);
	return copy && oom_count() == lost ? TAKE_PTR(copy) : NULL;
}

cJSON *lost_head_refined(const struct story *story, const struct incident_death *heads, size_t n,
			 const cJSON *failure)
{
	_cleanup_free_ struct incident_death *deaths = calloc(n + 1, sizeof(*deaths));
	_cleanup_free_ struct incident_place *places = calloc(n + 1, sizeof(*places));

	/* After a failed write this is done again. */
	if (!deaths || !places || !n || !lost_head_may_be(story) ||
	    json_find(json_get(failure, "spec.evidence"), "source", SOURCE))
		return NULL;
	memcpy(deaths, heads, n * sizeof(*deaths));
	deaths[n] = story->death;
	if (incident_join(deaths, n + 1, places) < 0 || places[n].first == n)
		return NULL;
	return refined_failure(story, &deaths[places[n].first], failure);
}
