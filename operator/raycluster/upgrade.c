/* SPDX-License-Identifier: Apache-2.0 */
/* Implements upgradeStrategy Recreate. */
#include "operator/raycluster/upgrade.h"

#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"

/*
 * The version changes whenever the hash covers other parts of the spec: pods with the other version
 * are then adopted.
 */
#define HASHER "v1-"
#define DIGITS 40

#define KUBERAY_VERSION "ray.io/kuberay-version"
#define NO_KUBERAY "afterglow"
#define ADOPTED_ANNOTATION "afterglow.dev/adopted"

static void upgrade_drop(cJSON *object, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(object, names[i]);
}

static void drop_from_template(cJSON *group)
{
	static const char *const others[] = { "tolerations", "schedulingGates" };

	upgrade_drop(json_get(group, "template.spec"), others, ARRAY_SIZE(others));
}

/*
 * The same spec gives the same text, because the API server prints the members of an object in the
 * order of their names.
 */
void upgrade_hash(const cJSON *cluster, char ret_hash[static UPGRADE_HASH_MAX])
{
	static const char *const of_cluster[] = { "suspend", "managedBy", "upgradeStrategy" };
	static const char *const of_group[] = { "replicas", "minReplicas", "maxReplicas",
						"scaleStrategy", "suspend" };
	_cleanup_json_ cJSON *spec = cJSON_Duplicate(json_get(cluster, "spec"), true);
	_cleanup_free_ char *text = NULL;
	cJSON *group;

	upgrade_drop(spec, of_cluster, ARRAY_SIZE(of_cluster));
	drop_from_template(json_get(spec, "headGroupSpec"));
	cJSON_ArrayForEach(group, json_get(spec, "workerGroupSpecs")) {
		upgrade_drop(group, of_group, ARRAY_SIZE(of_group));
		drop_from_template(group);
	}
	text = cJSON_PrintUnformatted(spec);
	memcpy(ret_hash, HASHER, sizeof(HASHER));
	sha256_hex(text ? text : "", text ? strlen(text) : 0, DIGITS, ret_hash + strlen(HASHER));
}

bool upgrade_is_recreate(const cJSON *cluster)
{
	return json_is(cluster, "spec.upgradeStrategy.type", "Recreate");
}

const char *upgrade_by_creator(const cJSON *cluster)
{
	const char *creator = object_label(cluster, "ray.io/originated-from-crd");

	return TEXT_IS_ONE_OF(creator, "RayJob", "RayService") ? creator : NULL;
}

bool upgrade_is_ours(const cJSON *pod)
{
	return object_annotation(pod, UPGRADE_HASH_ANNOTATION) &&
	       !object_annotation(pod, ADOPTED_ANNOTATION);
}

bool upgrade_is_unknown(const cJSON *pod)
{
	const char *have = object_annotation(pod, UPGRADE_HASH_ANNOTATION);

	return !have || strncmp(have, HASHER, strlen(HASHER)) != 0;
}

bool upgrade_is_stale(const cJSON *pod, const char *hash)
{
	return !upgrade_is_unknown(pod) &&
	       strcmp(object_annotation(pod, UPGRADE_HASH_ANNOTATION), hash) != 0;
}

void upgrade_annotate(cJSON *annotations, const char *hash)
{
	json_set_str(annotations, UPGRADE_HASH_ANNOTATION, hash);
	json_set_str(annotations, KUBERAY_VERSION, NO_KUBERAY);
}

cJSON *upgrade_adoption(const cJSON *pod, const char *hash)
{
	cJSON *body = object_new("v1", "Pod", json_str(pod, "metadata.namespace"),
				 json_str(pod, "metadata.name"));
	cJSON *metadata = json_get(body, "metadata"),
	      *annotations = json_object_at(metadata, "annotations");

	json_set_str(metadata, "uid", json_str(pod, "metadata.uid"));
	upgrade_annotate(annotations, hash);
	/* The hash of a group that the spec no longer has stays as it is. */
	if (!object_annotation(pod, UPGRADE_HASH_ANNOTATION))
		json_set_str(annotations, ADOPTED_ANNOTATION, "true");
	if (object_annotation(pod, KUBERAY_VERSION))
		cJSON_DeleteItemFromObjectCaseSensitive(annotations, KUBERAY_VERSION);
	return body;
}
