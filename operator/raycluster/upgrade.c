/* SPDX-License-Identifier: Apache-2.0 */
/* upgradeStrategy Recreate. */
#include "operator/raycluster/upgrade.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "operator/kube/object.h"

static void drop(cJSON *object, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(object, names[i]);
}

/* The API server prints the members of an object in the order of their names: the same spec, the same text. */
void upgrade_hash(const cJSON *cluster, char ret_hash[static UPGRADE_HASH_MAX])
{
	static const char *const of_cluster[] = { "suspend", "managedBy", "upgradeStrategy" };
	static const char *const of_group[] = { "replicas", "minReplicas", "maxReplicas", "scaleStrategy", "suspend" };
	_cleanup_json_ cJSON *spec = cJSON_Duplicate(json_get(cluster, "spec"), true);
	_cleanup_free_ char *text = NULL;
	cJSON *group;

	drop(spec, of_cluster, ARRAY_SIZE(of_cluster));
	cJSON_ArrayForEach(group, json_get(spec, "workerGroupSpecs"))
		drop(group, of_group, ARRAY_SIZE(of_group));
	text = cJSON_PrintUnformatted(spec);
	sha256_hex(text ? text : "", text ? strlen(text) : 0, UPGRADE_HASH_MAX - 1, ret_hash);
}

bool upgrade_is_recreate(const cJSON *cluster)
{
	const char *type = json_str(cluster, "spec.upgradeStrategy.type");

	return type && strcmp(type, "Recreate") == 0;
}

bool upgrade_is_stale(const cJSON *pod, const char *hash)
{
	const char *have = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		json_get(pod, "metadata.annotations"), UPGRADE_HASH_ANNOTATION));

	return have && strcmp(have, hash) != 0;
}
