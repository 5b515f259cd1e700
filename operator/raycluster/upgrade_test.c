/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which changes need new pods, and which do not. */
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
		/* Kueue writes these into the spec. */
		{ "spec.headGroupSpec.template.spec", "tolerations", "[{key: a}]", false },
		{ "spec.headGroupSpec.template.spec", "schedulingGates", "[{name: a}]", false },
		{ "spec.headGroupSpec.template.spec", "nodeSelector", "{a: b}", true },
	};
	_cleanup_json_ cJSON *fresh = fixture("cluster.yaml");
	char before[UPGRADE_HASH_MAX], after[UPGRADE_HASH_MAX];

	(void)state;
	upgrade_hash(fresh, before);
	assert_int_equal(strlen(before), strlen("v1-") + 40);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
		cJSON *group = cJSON_GetArrayItem(json_get(cluster, "spec.workerGroupSpecs"), 0);

		json_set(strcmp(rows[i].path, "group") == 0 ? group :
							      json_get(cluster, rows[i].path),
			 rows[i].name, json_of(rows[i].value));
		upgrade_hash(cluster, after);
		if ((strcmp(before, after) != 0) != rows[i].changes)
			fail_msg("%s.%s", rows[i].path, rows[i].name);
	}
}

static cJSON *pod_with(const char *annotations)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "metadata: {namespace: ns, name: p, uid: u, annotations: {%s}}", annotations);
	return json_of(text);
}

static void only_a_hash_of_this_hasher_says_that_a_pod_is_stale(void **state)
{
	static const struct {
		const char *annotations;
		bool stale, unknown;
	} rows[] = {
		{ "afterglow.dev/recreate-hash: v1-abc", false, false },
		{ "afterglow.dev/recreate-hash: v1-abd", true, false },
		/* The hash is of another version of the hasher. */
		{ "afterglow.dev/recreate-hash: v2-abd", false, true },
		{ "afterglow.dev/recreate-hash: \"\"", false, true },
		/* The hash of KubeRay, and those of older versions of this operator. */
		{ "ray.io/upgrade-strategy-recreate-hash: v1-abd, ray.io/kuberay-version: v1.7.0", false, true },
		{ "ray.io/upgrade-strategy-recreate-hash: v1-abd", false, true },
		{ "", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_with(rows[i].annotations);

		if (upgrade_is_stale(pod, "v1-abc") != rows[i].stale ||
		    upgrade_is_unknown(pod) != rows[i].unknown)
			fail_msg("%s", rows[i].annotations);
	}
}

/*
 * KubeRay's shouldRecreatePodsForUpgrade of 1.6 and 1.7. Returns whether KubeRay restarts the
 * cluster of this head.
 */
static bool kuberay_recreates(const cJSON *annotations)
{
	const char *hash, *version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
				  annotations, "ray.io/kuberay-version"));
	if (version && *version && strcmp(version, "v1.7.0") != 0)
		return false; /* it adopts the head */
	hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
		annotations, "ray.io/upgrade-strategy-recreate-hash"));
	return hash && *hash && strcmp(hash, "kuberay's of this spec") != 0;
}

static void kuberay_restarts_neither_our_pods_nor_adopted_ones(void **state)
{
	static const char *const before[] = {
		"", /* a new pod of this operator */
		"ray.io/upgrade-strategy-recreate-hash: kuberay's of this spec, ray.io/kuberay-version: v1.7.0",
		"ray.io/upgrade-strategy-recreate-hash: another, ray.io/kuberay-version: v1.6.2",
		/* Older versions of this operator wrote this one. */
		"ray.io/upgrade-strategy-recreate-hash: ours",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		_cleanup_json_ cJSON *pod = pod_with(before[i]),
				     *patch = upgrade_adoption(pod, "v1-abc");
		cJSON *annotations = json_object_at(json_get(pod, "metadata"), "annotations");
		const cJSON *item;

		assert_string_equal(json_str(patch, "metadata.uid"), "u");
		cJSON_ArrayForEach(item, json_get(patch, "metadata.annotations"))
			json_set_str(annotations, item->string, item->valuestring);
		assert_false(upgrade_is_unknown(pod));
		assert_false(upgrade_is_stale(pod, "v1-abc"));
		if (kuberay_recreates(annotations))
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_changes_pods_changes_the_hash),
		cmocka_unit_test(only_a_hash_of_this_hasher_says_that_a_pod_is_stale),
		cmocka_unit_test(kuberay_restarts_neither_our_pods_nor_adopted_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
