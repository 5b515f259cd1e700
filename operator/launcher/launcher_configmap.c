/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what to do with the launchers' ConfigMap of one namespace. */
#include "operator/launcher/launcher_configmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "operator/kube/object.h"

struct key_use {
	size_t refs; /* number of pods that refer to it */
	int64_t unused_ns; /* since when no pod refers to it; 0: a pod does */
};

void launcher_configmap_release(struct launcher_configmap *place)
{
	strmap_release(&place->keys, free);
}

/* --- References of pods to keys -------------------------------------------------------------- */

static struct key_use *use_of(struct launcher_configmap *place, const char *key)
{
	struct key_use *use = place->keys.n < LAUNCHER_PLACE_KEYS_MAX ?
				      strmap_get_or_add(&place->keys, key, sizeof(*use)) :
				      strmap_get(&place->keys, key);

	place->crowded = place->crowded || !use;
	return use;
}

static void launcher_configmap_refer(struct launcher_configmap *place, const char *key)
{
	struct key_use *use = use_of(place, key);

	if (!use)
		return;
	use->refs++;
	use->unused_ns = 0;
}

static void refer_no_more(struct launcher_configmap *place, const char *key, int64_t now_ns)
{
	struct key_use *use = strmap_get(&place->keys, key);

	if (use && use->refs > 0 && --use->refs == 0)
		use->unused_ns = now_ns;
}

/* Counts the keys of a pod. now_ns is 0 if they are added. */
static void count_keys(struct launcher_configmap *place, const cJSON *pod, int64_t now_ns)
{
	json_each(volume, json_get(pod, "spec.volumes"))
		json_each(item, json_get(volume, "configMap.items")) {
			const char *key = json_str(item, "key");

			if (!launcher_is_key(key))
				continue;
			if (now_ns)
				refer_no_more(place, key, now_ns);
			else
				launcher_configmap_refer(place, key);
		}
}

static void launcher_configmap_note_end(struct launcher_configmap *place, int64_t now_ns)
{
	if (place->n_pods == 0 && place->n_clusters == 0 && !place->empty_ns)
		place->empty_ns = now_ns;
}

void launcher_configmap_add_pod(struct launcher_configmap *place, const cJSON *pod)
{
	place->n_pods++;
	place->empty_ns = 0;
	count_keys(place, pod, 0);
}

void launcher_configmap_remove_pod(struct launcher_configmap *place, const cJSON *pod,
				   int64_t now_ns)
{
	place->n_pods -= place->n_pods > 0;
	count_keys(place, pod, now_ns);
	if (place->n_pods == 0 && place->crowded) {
		launcher_configmap_release(place);
		place->crowded = false;
	}
	launcher_configmap_note_end(place, now_ns);
}

void launcher_configmap_add_cluster(struct launcher_configmap *place)
{
	place->n_clusters++;
	place->empty_ns = 0;
}

void launcher_configmap_remove_cluster(struct launcher_configmap *place, int64_t now_ns)
{
	place->n_clusters -= place->n_clusters > 0;
	launcher_configmap_note_end(place, now_ns);
}

bool launcher_configmap_is_over(const struct launcher_configmap *place, int64_t now_ns)
{
	return place->empty_ns && now_ns - place->empty_ns >= LAUNCHER_UNUSED_NS;
}

/*
 * --- What to write
 * ----------------------------------------------------------------------------------------
 */

/* Returns the member of that name, which may contain dots. json_get would take them for a path. */
static const cJSON *launcher_configmap_member(const cJSON *have, const char *object,
					      const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(json_get(have, object), key);
}

/* A key in data, as text, excludes the same key in binaryData, so it has to be removed. */
static int want_key(const struct launcher *launcher, const cJSON *have, cJSON *change)
{
	_cleanup_free_ char *wanted = base64_text(launcher->data, launcher->len);
	const char *text =
		cJSON_GetStringValue(launcher_configmap_member(have, "binaryData", launcher->key));

	if (!wanted)
		return -ENOMEM;
	if (text && strcmp(text, wanted) == 0)
		return 0;
	json_set_str(json_object_at(change, "binaryData"), launcher->key, wanted);
	if (launcher_configmap_member(have, "data", launcher->key))
		json_set_str(json_object_at(change, "data"), launcher->key, NULL);
	return 0;
}

static bool is_current(const struct launchers *launchers, const char *key)
{
	for (size_t i = 0; i < launchers->n; i++)
		if (strcmp(launchers->of[i].key, key) == 0)
			return true;
	return false;
}

static bool must_go(struct launcher_configmap *place, const struct launchers *launchers,
		    const char *key, int64_t now_ns)
{
	if (launcher_configmap_is_over(place, now_ns))
		return true;
	struct key_use *use = is_current(launchers, key) ? NULL : use_of(place, key);
	if (!use || use->refs > 0)
		return false;
	if (!use->unused_ns)
		use->unused_ns = now_ns;
	return !place->crowded && now_ns - use->unused_ns >= LAUNCHER_UNUSED_NS;
}

static void collect_keys(struct launcher_configmap *place, const struct launchers *launchers,
			 const cJSON *have, int64_t now_ns, cJSON *change)
{
	static const char *const objects[] = { "binaryData", "data" };

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		json_each(item, json_get(have, objects[i]))
			if (launcher_is_key(item->string) &&
			    must_go(place, launchers, item->string, now_ns))
				json_set_str(json_object_at(change, objects[i]), item->string,
					     NULL);
}

/* Forgets the keys that are neither used by a pod nor in the ConfigMap. */
static void forget_keys(struct launcher_configmap *place, const cJSON *have)
{
	const char *key;
	void *value;

	strmap_each(&place->keys, &key, &value) {
		const struct key_use *use = value;

		if (use->refs == 0 && !launcher_configmap_member(have, "binaryData", key) &&
		    !launcher_configmap_member(have, "data", key))
			free(strmap_remove(&place->keys, key));
	}
}

static cJSON *change_new(const char *namespace, const cJSON *have)
{
	cJSON *change = object_new("v1", "ConfigMap", namespace, LAUNCHER_CONFIGMAP);

	if (!have)
		json_set_str(json_object_at(json_get(change, "metadata"), "labels"),
			     "app.kubernetes.io/managed-by", "afterglow");
	return change;
}

int launcher_configmap_change(struct launcher_configmap *place, const char *namespace,
			      const struct launchers *launchers, const cJSON *have, bool collect,
			      int64_t now_ns, cJSON **ret_change, struct err *err)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *change = change_new(namespace, have);

	forget_keys(place, have);
	for (size_t i = 0; i < launchers->n && !place->empty_ns; i++)
		if (want_key(&launchers->of[i], have, change) < 0)
			return err_set(err, ENOMEM, "ConfigMap " LAUNCHER_CONFIGMAP);
	if (collect)
		collect_keys(place, launchers, have, now_ns, change);
	if (oom_count() != lost)
		return err_set(err, ENOMEM, "ConfigMap " LAUNCHER_CONFIGMAP);
	*ret_change = json_get(change, "binaryData") || json_get(change, "data") ?
			      TAKE_PTR(change) :
			      NULL;
	return 0;
}
