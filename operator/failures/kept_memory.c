/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what the tasks of a RayCluster have needed. */
#include "operator/failures/kept_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/memory_needs.h"
#include "lib/sidecar_names.h"
#include "operator/failures/owner.h"
#include "operator/kube/json_shape.h"
#include "operator/kube/object.h"

/* more are somebody else's, who could hold us up with them */
#define KEYS_MAX (2 * KEPT_MEMORY_CLUSTERS_MAX)
#define VALUES_MAX 8192 /* of a cluster; we write fewer, and adding them up holds our loop */
#define ENDED_AT_MAX 40
#define ENDED_AT_MARK "\"endedAt\":\""

static const cJSON *sidecar_terminated(const cJSON *pod)
{
	return json_get(
		json_find(json_get(pod, "status.containerStatuses"), "name", SIDECAR_CONTAINER),
		"state.terminated");
}

const char *kept_memory_message(const cJSON *pod)
{
	const char *message = json_str(sidecar_terminated(pod), "message");

	return message && strncmp(message, MEMORY_NEEDS_MARK, strlen(MEMORY_NEEDS_MARK)) == 0 ?
		       message :
		       NULL;
}

/* A group's place in a cluster's entry, made if there is room; NULL otherwise. */
static cJSON *group_place(cJSON *cluster, const char *name)
{
	cJSON *groups = json_array_at(cluster, "groups"), *group = json_find(groups, "group", name);

	if (group || cJSON_GetArraySize(groups) >= KEPT_MEMORY_GROUPS_MAX)
		return group;
	group = cJSON_CreateObject();
	json_set_str(group, "group", name);
	json_append(groups, group);
	return group;
}

static void cluster_add_group(cJSON *cluster, const char *name, const cJSON *needs)
{
	cJSON *group = name && cJSON_IsObject(json_get(needs, "peaks")) ?
			       group_place(cluster, name) :
			       NULL;

	if (group)
		memory_needs_add(json_object_at(group, "needs"), needs, MEMORY_NEEDS_KEPT);
}

/* Times of RFC 3339 in UTC are in the order of their letters. */
static void cluster_set(cJSON *cluster, const char *owner, const char *ended_at)
{
	if (owner)
		json_set_str(cluster, "owner", owner);
	if (ended_at && strcmp(ended_at, json_str_or(cluster, "endedAt", "")) > 0)
		json_set_str(cluster, "endedAt", ended_at);
}

bool kept_memory_add(cJSON *clusters, const cJSON *pod)
{
	const char *message = kept_memory_message(pod), *name = object_label(pod, "ray.io/cluster");
	const char *text = message ? message + strlen(MEMORY_NEEDS_MARK) : NULL;
	_cleanup_json_ cJSON *needs = NULL;
	bool known = name && cJSON_GetObjectItemCaseSensitive(clusters, name);
	struct owner owner;

	if (!text || !name || !*name ||
	    (!known && cJSON_GetArraySize(clusters) >= KEPT_MEMORY_CLUSTERS_MAX))
		return false;
	if (json_parse(text, strlen(text), &needs, NULL) < 0 ||
	    !cJSON_IsObject(json_get(needs, "peaks")))
		return false;
	text = object_annotation(pod, OWNER_ANNOTATION);
	cJSON *cluster = json_object_at(clusters, name);
	cluster_set(cluster, owner_parse(text, &owner) ? text : NULL,
		    json_str(sidecar_terminated(pod), "finishedAt"));
	cluster_add_group(cluster, object_label(pod, "ray.io/group"), needs);
	return true;
}

/*
 * The value of a key, which may contain dots; NULL: there is none that can be read. The caller owns
 * it.
 */
static cJSON *cluster_read(const cJSON *value)
{
	const char *text = cJSON_GetStringValue(value);
	size_t len = text ? strlen(text) : 0;
	struct json_shape shape = { 0 };
	cJSON *json = NULL;

	if (text && len <= KEPT_MEMORY_CLUSTER_MAX)
		json_shape(text, len, &shape);
	if (!shape.values || shape.values > VALUES_MAX || json_parse(text, len, &json, NULL) < 0)
		return NULL;
	return json;
}

static void cluster_join(cJSON *sum, const cJSON *cluster)
{
	int read = 0;

	cluster_set(sum, json_str(cluster, "owner"), json_str(cluster, "endedAt"));
	/* We write no more; a tenant who does would hold our loop. */
	json_each(group, json_get(cluster, "groups"))
		if (read++ < KEPT_MEMORY_GROUPS_MAX)
			cluster_add_group(sum, json_str(group, "group"), json_get(group, "needs"));
}

/* When its last pod ended, as we write it, without parsing all of it; "": it is not ours. */
static const char *value_ended_at(const cJSON *value, char buf[static ENDED_AT_MAX])
{
	const char *text = cJSON_GetStringValue(value),
		   *at = text ? strstr(text, ENDED_AT_MARK) : NULL;
	size_t len = at ? strcspn(at + strlen(ENDED_AT_MARK), "\"") : 0;

	snprintf(buf, ENDED_AT_MAX, "%.*s", (int)MIN(len, (size_t)ENDED_AT_MAX - 1),
		 at ? at + strlen(ENDED_AT_MARK) : "");
	return buf;
}

static const cJSON *value_oldest(const cJSON *have, const cJSON *data)
{
	const cJSON *oldest = NULL;
	char first[ENDED_AT_MAX], ended[ENDED_AT_MAX];

	json_each(value, have) {
		if (cJSON_GetObjectItemCaseSensitive(data, value->string) ||
		    (oldest && strcmp(value_ended_at(value, ended), first) >= 0))
			continue;
		oldest = value;
		value_ended_at(value, first);
	}
	return oldest;
}

/* Removes those that ended first, of the ones that do not change, until what is left has room. */
static void oldest_remove(cJSON *data, const cJSON *have, size_t n, size_t bytes)
{
	const cJSON *oldest;

	while ((n > KEPT_MEMORY_CLUSTERS_MAX || bytes > KEPT_MEMORY_MAX) &&
	       (oldest = value_oldest(have, data))) {
		json_set_str(data, oldest->string, NULL);
		n--;
		bytes -= strlen(cJSON_GetStringValue(oldest) ?: "");
	}
}

cJSON *kept_memory_change(const char *namespace, const cJSON *have, const cJSON *clusters)
{
	cJSON *change = object_new("v1", "ConfigMap", namespace, KEPT_MEMORY_CONFIGMAP),
	      *data = json_object_at(change, "data");
	const cJSON *old = json_get(have, "data");
	size_t n = 0, bytes = 0;

	if (cJSON_GetArraySize(old) > KEYS_MAX) {
		cJSON_Delete(change);
		return NULL;
	}
	if (!have)
		json_set_str(json_object_at(json_get(change, "metadata"), "labels"),
			     "app.kubernetes.io/managed-by", "afterglow");
	json_each(cluster, clusters) {
		_cleanup_json_ cJSON *sum = cJSON_CreateObject(),
				     *before = cluster_read(cJSON_GetObjectItemCaseSensitive(
					     old, cluster->string));
		_cleanup_free_ char *text = NULL;

		cluster_join(sum, before);
		cluster_join(sum, cluster);
		text = cJSON_PrintUnformatted(sum);
		/* A null would remove it. */
		if (!text)
			continue;
		json_set_str(data, cluster->string, text);
		bytes += strlen(text);
		n++;
	}
	json_each(value, old)
		if (!cJSON_GetObjectItemCaseSensitive(data, value->string)) {
			bytes += strlen(cJSON_GetStringValue(value) ?: "");
			n++;
		}
	oldest_remove(data, old, n, bytes);
	return change;
}
