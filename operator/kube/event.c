/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a Kubernetes Event about a RayCluster, or about one of its pods. */
#include "operator/kube/event.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "operator/kube/object.h"

#define NOTE_MAX 1023 /* the API server refuses 1024 bytes */

/* The note is cut between characters, because JSON must not contain an incomplete one. */
static void set_note(cJSON *event, const char *note)
{
	char text[NOTE_MAX + 1];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", note);

	if (len >= sizeof(text))
		text[utf8_cut(note, sizeof(text) - 1)] = '\0';
	json_set_str(event, "note", text);
}

/* MicroTime has exactly six digits. */
static void set_event_time(cJSON *event, int64_t now_ns)
{
	char ms[TIME_TEXT_MAX], text[TIME_TEXT_MAX + 8];

	time_format(now_ns, ms);
	snprintf(text, sizeof(text), "%.*s000Z", (int)strcspn(ms, "Z"), ms);
	json_set_str(event, "eventTime", text);
}

static cJSON *event_new(const cJSON *object, const char *reason, const char *note, int64_t now_ns)
{
	const char *object_name = json_str_or(object, "metadata.name", "object"),
		   *uid = json_str_or(object, "metadata.uid", "");
	_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT(65536);
	char name[300], hash[11];

	strbuf_addf(&seed, "%s/%s/%s", uid, reason, note);
	sha256_hex(strbuf_str(&seed), seed.len, 10, hash);
	snprintf(name, sizeof(name), "%.200s.%s", object_name, hash);
	cJSON *event = object_new("events.k8s.io/v1", "Event",
				  json_str(object, "metadata.namespace"), name);
	set_event_time(event, now_ns);
	json_set_str(event, "reportingController", "afterglow.dev/operator");
	json_set_str(event, "reportingInstance", "afterglow-operator");
	json_set_str(event, "reason", reason);
	set_note(event, note);
	return event;
}

static cJSON *event_about(const char *api_version, const char *kind, const cJSON *object,
			  const char *type, const char *reason, const char *action,
			  const char *note, int64_t now_ns)
{
	cJSON *event = event_new(object, reason, note, now_ns);
	cJSON *regarding = json_object_at(event, "regarding");

	json_set_str(regarding, "apiVersion", api_version);
	json_set_str(regarding, "kind", kind);
	json_set_str(regarding, "namespace", json_str(object, "metadata.namespace"));
	json_set_str(regarding, "name", json_str(object, "metadata.name"));
	json_set_str(regarding, "uid", json_str(object, "metadata.uid"));
	json_set_str(event, "type", type);
	json_set_str(event, "action", action);
	return event;
}

cJSON *event_of_object(const cJSON *object, const char *type, const char *reason,
		       const char *action, const char *note, int64_t now_ns)
{
	return event_about(json_str(object, "apiVersion"), json_str(object, "kind"), object, type,
			   reason, action, note, now_ns);
}

cJSON *event_of_cluster(const cJSON *cluster, const char *type, const char *reason,
			const char *action, const char *note, int64_t now_ns)
{
	return event_about("ray.io/v1", "RayCluster", cluster, type, reason, action, note, now_ns);
}

cJSON *event_warning(const cJSON *cluster, const char *reason, const char *action, const char *note,
		     int64_t now_ns)
{
	return event_of_cluster(cluster, "Warning", reason, action, note, now_ns);
}

cJSON *event_of_pod(const cJSON *pod, const char *type, const char *reason, const char *action,
		    const char *note, int64_t now_ns)
{
	return event_about("v1", "Pod", pod, type, reason, action, note, now_ns);
}
