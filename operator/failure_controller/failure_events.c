/* SPDX-License-Identifier: Apache-2.0 */
/* Emits Events about RayFailures, on their RayCluster and on its owner. */
#include "operator/failure_controller/failure_events.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "operator/failures/owner.h"
#include "operator/failures/story.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"

#define AGAIN_NS (600 * NS_PER_SEC)
#define KEY_MAX 600

static bool is_time(const struct failure_events *events, const char *class, const char *cluster)
{
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s %s", cluster, class);
	return event_recorder_is_time(events->recorder, key, AGAIN_NS);
}

/*
 * Writes the beginning and as many whole words of the text as fit; "..." says that there are more.
 * A full stop is left out: the sidecar's sentences end with one, the operator's do not.
 */
static const char *words_of(const char *beginning, const char *text, char *buf, size_t size)
{
	size_t len = strlen(text), room = size - strlen(beginning) - sizeof("...");
	bool cut = len > room;

	len = cut ? utf8_cut(text, room) : len;
	while (cut && len && text[len] != ' ')
		len--;
	while (len && (text[len - 1] == '.' || text[len - 1] == ' '))
		len--;
	snprintf(buf, size, "%s%.*s%s", beginning, (int)len, text, cut ? "..." : "");
	return buf;
}

/* Room for ". Try: find what load_samples keeps; ...", or nothing. */
#define ADVICE_MAX 256
static const char *advice_of(const cJSON *failure, char buf[static ADVICE_MAX])
{
	const char *advice = json_str(failure, "spec.advice");

	buf[0] = '\0';
	return advice && *advice ? words_of(". Try: ", advice, buf, ADVICE_MAX) : buf;
}

/*
 * Returns whether a driver's exception names a node or worker. The failure has an Event, so it is a
 * first cause, and nothing explains that death.
 */
static bool names_what_nobody_saw(const cJSON *failure)
{
	return json_str(failure, "spec.rayError.nodeID") || json_str(failure, "spec.rayError.ip") ||
	       json_str(failure, "spec.rayError.workerID");
}

/* Room for "; 3 other ends followed from it (kubectl ...)", or nothing. */
#define REST_MAX 256
static const char *rest_of(const cJSON *failure, const struct incident_telling *telling,
			   char buf[static REST_MAX])
{
	buf[0] = '\0';
	if (names_what_nobody_saw(failure))
		snprintf(
			buf, REST_MAX,
			"; no RayFailure of this cluster explains that death: its pod may have no sidecar, or be none "
			"of this cluster");
	else if (telling->consequences)
		snprintf(
			buf, REST_MAX,
			"; %zu other end%s followed from it (kubectl get rayfailures -n %.63s -l " INCIDENT_LABEL
			"=%s)",
			telling->consequences, telling->consequences == 1 ? "" : "s",
			json_str(failure, "metadata.namespace"), telling->id);
	return buf;
}

/*
 * object: the RayCluster (without a beginning) or its owner. label and value select all of its
 * failures.
 */
static cJSON *event_of(const cJSON *object, const cJSON *failure,
		       const struct incident_telling *telling, const char *beginning,
		       const char *label, const char *value)
{
	const char *namespace = json_str(failure, "metadata.namespace"),
		   *verdict = json_str(failure, "spec.verdict");
	char note[1536], rest[REST_MAX], advice[ADVICE_MAX], sentence[400];

	snprintf(
		note, sizeof(note),
		"%s%s%s%s. See kubectl describe rayfailure -n %.63s %.200s; for all failures: kubectl get rayfailures -n %.63s -l %s=%.63s",
		beginning, words_of("", verdict, sentence, *beginning ? 300 : sizeof(sentence)),
		advice_of(failure, advice), rest_of(failure, telling, rest), namespace,
		json_str(failure, "metadata.name"), namespace, label, value);
	return (*beginning ? event_of_object : event_of_cluster)(object, "Warning",
								 json_str(failure, "spec.class"),
								 "Record", note, now_realtime_ns());
}

/*
 * Makes an object with the part of the RayJob or RayService that an Event needs. The caller owns
 * it.
 */
static cJSON *object_of(const struct owner *owner, const cJSON *failure)
{
	cJSON *object = object_new("ray.io/v1", owner_kind_name(owner->kind),
				   json_str(failure, "metadata.namespace"), owner->name);

	json_set_str(json_get(object, "metadata"), "uid", owner->uid);
	return object;
}

/* Names the pod, because an owner has many of them, and perhaps more than one cluster. */
static cJSON *event_of_owner(const struct owner *owner, const cJSON *failure,
			     const struct incident_telling *telling)
{
	const char *pod = json_str_or(failure, "spec.pod", "?"),
		   *cluster = json_str(failure, "spec.cluster");
	_cleanup_json_ cJSON *object = object_of(owner, failure);
	bool has_label = strlen(owner->name) <= 63;
	char beginning[400];

	snprintf(beginning, sizeof(beginning), "%sPod %.253s of RayCluster %.63s: ",
		 telling->ends_job ? "The job's driver failed because of this. " : "", pod,
		 cluster);
	return event_of(object, failure, telling, beginning,
			has_label ? OWNER_NAME_LABEL : "ray.io/cluster",
			has_label ? owner->name : cluster);
}

static bool tell_cluster(const struct failure_events *events, const cJSON *failure,
			 const struct incident_telling *telling, const char *class, const char *key)
{
	const cJSON *cluster = events->find_cluster(events->arg, key);
	cJSON *event = NULL;

	if (cluster && (telling->again || is_time(events, class, key)))
		event = event_of(cluster, failure, telling, "", "ray.io/cluster",
				 json_str(cluster, "metadata.name"));
	if (event)
		event_recorder_emit(events->recorder, event, EVENT_ONCE);
	return event;
}

/* Without a uid `kubectl describe` would not show the Event. */
static bool tell_owner(const struct failure_events *events, const cJSON *failure,
		       const struct incident_telling *telling, const char *class,
		       const char *namespace)
{
	cJSON *event = NULL;
	struct owner owner;
	char key[512];

	if (!owner_get(failure, &owner) || owner.kind == OWNER_RAY_CLUSTER || !*owner.uid)
		return false;
	snprintf(key, sizeof(key), "%s/%s/%s", namespace, owner_kind_name(owner.kind), owner.name);
	if (telling->again || is_time(events, class, key))
		event = event_of_owner(&owner, failure, telling);
	if (event)
		event_recorder_emit(events->recorder, event, EVENT_ONCE);
	return event;
}

bool failure_events_tell(const struct failure_events *events, const cJSON *failure,
			 const struct incident_telling *telling)
{
	const char *class = json_str(failure, "spec.class"),
		   *namespace = json_str(failure, "metadata.namespace");
	const char *name = json_str(failure, "spec.cluster");
	char key[512];

	if (!class || !name || !namespace || !json_str(failure, "spec.verdict"))
		return false;
	snprintf(key, sizeof(key), "%s/%s", namespace, name);
	bool emitted = tell_cluster(events, failure, telling, class, key);
	return tell_owner(events, failure, telling, class, namespace) || emitted;
}
