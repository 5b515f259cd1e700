/* SPDX-License-Identifier: Apache-2.0 */
/* Emits Events about RayFailures, on their RayCluster and on its owner. */
#include "operator/herald.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/failures/owner.h"
#include "operator/failures/story.h"
#include "operator/kube/events.h"
#include "operator/raycluster/event.h"
#include "operator/raycluster/names.h"
#include "operator/told.h"

#define AGAIN_NS (600 * NS_PER_SEC)
#define KEY_MAX 600

struct herald {
	struct client *client;
	struct watches *watches;
	struct strmap told; /* "CLASS namespace/name", "CLASS namespace/RayJob/name" -> int64_t: when */
};

int herald_new(struct client *client, struct watches *watches, struct herald **ret_herald, struct err *err)
{
	struct herald *herald = calloc(1, sizeof(*herald));

	if (!herald)
		return err_set(err, ENOMEM, "herald");
	herald->client = client;
	herald->watches = watches;
	*ret_herald = herald;
	return 0;
}

void herald_free(struct herald *herald)
{
	if (!herald)
		return;
	strmap_release(&herald->told, free);
	free(herald);
}

static bool is_time(struct herald *herald, const char *class, const char *cluster)
{
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s %s", class, cluster);
	return told_is_time(&herald->told, key, now_boottime_ns(), AGAIN_NS);
}

static void on_written(void *arg, struct client_response *response)
{
	(void)arg;
	if (response->err.code && strcmp(response->reason, "AlreadyExists") != 0)
		log_warning_limited("an Event was not written: %s", err_text(&response->err));
}

/* The sidecar's sentences end with a full stop, the operator's do not. */
static int sentence_len(const char *verdict)
{
	size_t len = MIN(strlen(verdict), (size_t)500);

	while (len && verdict[len - 1] == '.')
		len--;
	return (int)len;
}

/* "; 3 other ends followed from it (kubectl ...)", or nothing. */
#define REST_MAX 256
static const char *rest_of(const cJSON *failure, const struct incident_telling *telling, char buf[static REST_MAX])
{
	buf[0] = '\0';
	if (telling->consequences)
		snprintf(buf, REST_MAX, "; %zu other end%s followed from it (kubectl get rayfailures -n %.63s -l " INCIDENT_LABEL "=%s)",
			 telling->consequences, telling->consequences == 1 ? "" : "s", json_str(failure, "metadata.namespace"),
			 telling->id);
	return buf;
}

static cJSON *event_of(const cJSON *cluster, const cJSON *failure, const struct incident_telling *telling)
{
	const char *namespace = json_str(failure, "metadata.namespace"), *verdict = json_str(failure, "spec.verdict");
	char note[1536], rest[REST_MAX];

	snprintf(note, sizeof(note),
		 "%.*s%s. More: kubectl describe rayfailure -n %.63s %.200s; all: kubectl get rayfailures -n %.63s -l ray.io/cluster=%.63s",
		 sentence_len(verdict), verdict, rest_of(failure, telling, rest), namespace, json_str(failure, "metadata.name"),
		 namespace, json_str(cluster, "metadata.name"));
	return event_warning(cluster, json_str(failure, "spec.class"), "Record", note, now_realtime_ns());
}

/* Enough of the RayJob or RayService for an Event. The caller owns it. */
static cJSON *object_of(const struct owner *owner, const cJSON *failure)
{
	cJSON *object = object_new("ray.io/v1", owner_kind_name(owner->kind), json_str(failure, "metadata.namespace"), owner->name);

	json_set_str(json_get(object, "metadata"), "uid", owner->uid);
	return object;
}

/* Names the pod, because an owner has many of them, and perhaps more than one cluster. */
static cJSON *event_of_owner(const struct owner *owner, const cJSON *failure, const struct incident_telling *telling)
{
	const char *namespace = json_str(failure, "metadata.namespace"), *verdict = json_str(failure, "spec.verdict");
	const char *pod = json_str(failure, "spec.pod"), *cluster = json_str(failure, "spec.cluster");
	_cleanup_json_ cJSON *object = object_of(owner, failure);
	bool has_label = strlen(owner->name) <= 63;
	char note[1536], rest[REST_MAX];

	snprintf(note, sizeof(note),
		 "Pod %.253s of RayCluster %.63s: %.*s%s. More: kubectl describe rayfailure -n %.63s %.200s; "
		 "all: kubectl get rayfailures -n %.63s -l %s=%.63s",
		 pod ? pod : "?", cluster, MIN(sentence_len(verdict), 300), verdict, rest_of(failure, telling, rest), namespace,
		 json_str(failure, "metadata.name"), namespace, has_label ? OWNER_NAME_LABEL : "ray.io/cluster",
		 has_label ? owner->name : cluster);
	return event_of_object(object, "Warning", json_str(failure, "spec.class"), "Record", note, now_realtime_ns());
}

static void tell(struct herald *herald, const cJSON *event)
{
	struct err err = { 0 };

	if (client_event_once(herald->client, event, on_written, NULL, &err) < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}

static bool tell_cluster(struct herald *herald, const cJSON *failure, const struct incident_telling *telling, const char *class,
			 const char *key)
{
	const cJSON *cluster = store_get(watches_store(herald->watches, WATCH_CLUSTERS), key);
	_cleanup_json_ cJSON *event = NULL;

	if (cluster && (telling->again || is_time(herald, class, key)))
		event = event_of(cluster, failure, telling);
	watches_drop_views(herald->watches);
	if (event)
		tell(herald, event);
	return event;
}

/* Without a uid no `kubectl describe` would show it. */
static bool tell_owner(struct herald *herald, const cJSON *failure, const struct incident_telling *telling, const char *class,
		       const char *namespace)
{
	_cleanup_json_ cJSON *event = NULL;
	struct owner owner;
	char key[512];

	if (!owner_get(failure, &owner) || owner.kind == OWNER_RAY_CLUSTER || !*owner.uid)
		return false;
	snprintf(key, sizeof(key), "%s/%s/%s", namespace, owner_kind_name(owner.kind), owner.name);
	if (telling->again || is_time(herald, class, key))
		event = event_of_owner(&owner, failure, telling);
	if (event)
		tell(herald, event);
	return event;
}

bool herald_tell(struct herald *herald, const cJSON *failure, const struct incident_telling *telling)
{
	const char *class = json_str(failure, "spec.class"), *namespace = json_str(failure, "metadata.namespace");
	const char *name = json_str(failure, "spec.cluster");
	bool told;
	char key[512];

	if (!class || !name || !namespace || !json_str(failure, "spec.verdict"))
		return false;
	snprintf(key, sizeof(key), "%s/%s", namespace, name);
	told = tell_cluster(herald, failure, telling, class, key);
	return tell_owner(herald, failure, telling, class, namespace) || told;
}
