/* SPDX-License-Identifier: Apache-2.0 */
/* A Kubernetes Event about a RayCluster. */
#include "operator/raycluster/event.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/raycluster/names.h"

#define NOTE_MAX 1023 /* the API server refuses 1024 bytes */

/* Cuts at a character's border, for half a UTF-8 character is no JSON. */
static void set_note(cJSON *event, const char *note)
{
	char text[NOTE_MAX + 1];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s", note);

	if (len >= sizeof(text)) {
		len = sizeof(text) - 1;
		while (len && ((unsigned char)note[len] & 0xc0) == 0x80)
			len--;
		text[len] = '\0';
	}
	json_set_str(event, "note", text);
}

/* MicroTime wants exactly six digits. */
static void set_event_time(cJSON *event, int64_t now_ns)
{
	char ms[TIME_TEXT_MAX], text[TIME_TEXT_MAX + 8];

	time_format(now_ns, ms);
	snprintf(text, sizeof(text), "%.*s000Z", (int)strcspn(ms, "Z"), ms);
	json_set_str(event, "eventTime", text);
}

static void set_regarding(cJSON *event, const cJSON *cluster)
{
	cJSON *regarding = json_object_at(event, "regarding");

	json_set_str(regarding, "apiVersion", "ray.io/v1");
	json_set_str(regarding, "kind", "RayCluster");
	json_set_str(regarding, "namespace", json_str(cluster, "metadata.namespace"));
	json_set_str(regarding, "name", json_str(cluster, "metadata.name"));
	json_set_str(regarding, "uid", json_str(cluster, "metadata.uid"));
}

cJSON *event_warning(const cJSON *cluster, const char *reason, const char *action, const char *note,
		     int64_t now_ns)
{
	const char *cluster_name = json_str(cluster, "metadata.name"),
		   *uid = json_str(cluster, "metadata.uid");
	_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT(65536);
	char name[300], hash[11];
	cJSON *event;

	strbuf_addf(&seed, "%s/%s/%s", uid ? uid : "", reason, note);
	sha256_hex(strbuf_str(&seed), seed.len, 10, hash);
	snprintf(name, sizeof(name), "%.200s.%s", cluster_name ? cluster_name : "raycluster", hash);
	event = object_new("events.k8s.io/v1", "Event", json_str(cluster, "metadata.namespace"), name);
	set_event_time(event, now_ns);
	set_regarding(event, cluster);
	json_set_str(event, "reportingController", "afterglow.dev/operator");
	json_set_str(event, "reportingInstance", "afterglow-operator");
	json_set_str(event, "type", "Warning");
	json_set_str(event, "reason", reason);
	json_set_str(event, "action", action);
	set_note(event, note);
	return event;
}
