/* SPDX-License-Identifier: Apache-2.0 */
/* What makes other pods, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/raycluster/testing.h"
#include "operator/raycluster/upgrade.h"

static void only_what_changes_pods_changes_the_hash(void **state)
{
	static const struct {
		const char *path, *name, *value;
		bool changes;
	} rows[] = {
		{ "spec", "suspend", "true", false },
		{ "spec", "upgradeStrategy", "{type: Recreate}", false },
		{ "spec", "managedBy", "ray.io/kuberay-operator", false },
		{ "spec", "rayVersion", "2.47.0", true },
		{ "spec", "enableInTreeAutoscaling", "true", true },
		{ "spec.headGroupSpec", "rayStartParams", "{}", true },
		{ "group", "replicas", "9", false },
		{ "group", "minReplicas", "0", false },
		{ "group", "maxReplicas", "99", false },
		{ "group", "scaleStrategy", "{workersToDelete: [a]}", false },
		{ "group", "suspend", "true", false },
		{ "group", "numOfHosts", "2", true },
		{ "group", "labels", "{}", true },
		{ "metadata", "annotations", "{}", false },
	};
	_cleanup_json_ cJSON *fresh = fixture("cluster.yaml");
	char before[UPGRADE_HASH_MAX], after[UPGRADE_HASH_MAX];

	(void)state;
	upgrade_hash(fresh, before);
	assert_int_equal(strlen(before), 40);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
		cJSON *group = cJSON_GetArrayItem(json_get(cluster, "spec.workerGroupSpecs"), 0);

		json_set(strcmp(rows[i].path, "group") == 0 ? group : json_get(cluster, rows[i].path), rows[i].name,
			 json_of(rows[i].value));
		upgrade_hash(cluster, after);
		if ((strcmp(before, after) != 0) != rows[i].changes)
			fail_msg("%s.%s", rows[i].path, rows[i].name);
	}
}

static void a_pod_without_a_hash_is_not_stale(void **state)
{
	_cleanup_json_ cJSON *old = json_of("metadata: {annotations: {ray.io/upgrade-strategy-recreate-hash: abc}}");
	_cleanup_json_ cJSON *foreign = json_of("metadata: {annotations: {}}");

	(void)state;
	assert_true(upgrade_is_stale(old, "abd"));
	assert_false(upgrade_is_stale(old, "abc"));
	assert_false(upgrade_is_stale(foreign, "abc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_changes_pods_changes_the_hash),
		cmocka_unit_test(a_pod_without_a_hash_is_not_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
