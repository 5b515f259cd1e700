/* SPDX-License-Identifier: Apache-2.0 */
/* Tests each rule of the validation by one change to a valid cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/podspec/notes.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

/* Sets the YAML value at a '.'-separated path; a number names an array's element. */
static void set_path(cJSON *root, const char *path, const char *yaml)
{
	char name[64];
	cJSON *at = root;

	for (;;) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		if (!path[len])
			break;
		at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, (int)strtol(name, NULL, 10))
				       : json_get(at, name);
		path += len + 1;
	}
	json_set(at, name, json_of(yaml));
}

static void the_fixture_is_valid_and_supported(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();

	(void)state;
	validate_cluster(cluster, notes);
	assert_int_equal(cJSON_GetArraySize(notes), 0);
}

static void each_breach_is_found_and_named(void **state)
{
	static const struct {
		const char *path, *value, *text;
	} rows[] = {
		{ "metadata.name", "a23456789012345678901234567890123456789012345678901234", "at most 53" },
		{ "metadata.name", "Upper", "DNS-1035" },
		{ "metadata.name", "\"1st\"", "DNS-1035" },
		{ "metadata.name", "\"\"", "DNS-1035" },
		{ "spec.headGroupSpec.template.spec.containers", "[]", "headgroup: the template needs" },
		{ "spec.headGroupSpec", "null", "headgroup: the template needs" },
		{ "spec.workerGroupSpecs.0.template", "null", "Small: the template needs" },
		{ "spec.workerGroupSpecs.0.groupName", "a_b", "\"a_b\" is not a valid name" },
		{ "spec.workerGroupSpecs.0.groupName", "headgroup", "\"headgroup\" is not a valid name" },
		{ "spec.workerGroupSpecs.0.groupName", "null", "\"\" is not a valid name" },
		{ "spec.workerGroupSpecs.0.minReplicas", "6", "minReplicas 6 is above maxReplicas 5" },
		{ "spec.workerGroupSpecs.0.minReplicas", "-1", "must not be negative" },
		{ "spec.workerGroupSpecs.0.replicas", "-1", "must not be negative" },
		{ "spec.workerGroupSpecs.0.numOfHosts", "-1", "numOfHosts must not be negative" },
		{ "spec.workerGroupSpecs.0.numOfHosts", "0", "" },
		{ "spec.workerGroupSpecs.0.idleTimeoutSeconds", "5", "idleTimeoutSeconds needs autoscalerOptions.version v2" },
		{ "spec.workerGroupSpecs.0.idleTimeoutSeconds", "-5", "idleTimeoutSeconds must not be negative" },
		{ "spec.headGroupSpec.serviceType", "Other", "serviceType must be ClusterIP" },
		{ "spec.workerGroupSpecs.0.numOfHosts", "2", "" },
		{ "spec.workerGroupSpecs.0.labels", "{\"a b\": c}", "\"a b\" is not a valid key" },
		{ "spec.workerGroupSpecs.0.labels", "{\"/a\": c}", "\"/a\" is not a valid key" },
		{ "spec.workerGroupSpecs.0.labels", "{\"Up/a\": c}", "is not a valid key" },
		{ "spec.workerGroupSpecs.0.labels", "{a: \"$(id)\"}", "\"$(id)\" is not a valid value of a:" },
		{ "spec.workerGroupSpecs.0.labels", "{ray.io/zone: \"\"}", "" },
		{ "spec.workerGroupSpecs.0.rayStartParams", "{labels: a=b}", "use the group's labels" },
		{ "spec.headGroupSpec.resources", "{CPU: \"0\"}", "" },
		{ "spec.gcsFaultToleranceOptions", "{}", "redisAddress is missing" },
		{ "spec.tlsOptions", "{enabled: true}", "TLS between the nodes" },
		{ "spec.tlsOptions", "{enabled: \"yes\"}", "TLS between the nodes" },
		{ "spec.tlsOptions", "{enabled: false}", "" },
		{ "spec.tlsOptions", "{}", "" },
		{ "spec.workerGroupSpecs.0.priority", "0", "" },
		{ "spec.workerGroupSpecs.0.priority", "5", "priority needs rayVersion 2.56.0 or later, not 2.46.0" },
		{ "spec.upgradeStrategy", "{type: Recreate}", "" },
		{ "spec.networkPolicy", "{}", "network policies" },
		{ "spec.historyServerOptions", "{}", "the history server" },
		{ "spec.managedBy", "kueue.x-k8s.io/multikueue", "spec.managedBy is kueue.x-k8s.io/multikueue, but" },
		{ "spec.managedBy", "ray.io/kuberay-operator", "" },
		{ "spec.authOptions", "{mode: token}", "needs rayVersion 2.52.0 or later, not 2.46.0" },
		{ "spec.authOptions", "{mode: disabled}", "" },
		{ "spec.authOptions", "{mode: disabled, enableK8sTokenAuth: true}", "enableK8sTokenAuth needs mode token" },
		{ "spec.authOptions", "{mode: other}", "mode must be token or disabled, not other" },
		{ "spec.authOptions", "{mode: token, enableK8sTokenAuth: true, secretName: s}", "exclude each other" },
		{ "spec.gcsFaultToleranceOptions", "{redisAddress: \"redis:6379\"}", "" },
		{ "spec.gcsFaultToleranceOptions", "{storage: {}}", "storage may only be set with backend rocksdb" },
		{ "spec.gcsFaultToleranceOptions", "{backend: rocksdb}", "" },
		{ "spec.gcsFaultToleranceOptions", "{backend: rocksdb, redisAddress: x}", "redisAddress may not be set with" },
		{ "spec.gcsFaultToleranceOptions", "{backend: rocksdb, storage: {claimName: c, size: 1Gi}}",
		  "claimName names a claim that exists" },
		{ "spec.headGroupSpec.rayStartParams", "{redis-username: me}", "use gcsFaultToleranceOptions.redisUsername" },
		{ "spec.autoscalerOptions", "{idleTimeoutSeconds: -1}", "idleTimeoutSeconds must not be negative" },
		{ "spec.autoscalerOptions", "{env: [{name: KUBERAY_GEN_AUTOSCALER_START_CMD}]}", "must not set KUBERAY_GEN" },
		{ "spec.headGroupSpec.template.spec.containers.0.env",
		  "[{name: RAY_enable_autoscaler_v2, value: \"1\"}]", "while enableInTreeAutoscaling is not" },
		{ "spec.headGroupSpec.template.spec.containers.0.env",
		  "[{name: RAY_REDIS_ADDRESS, value: x}]", "RAY_REDIS_ADDRESS is set without" },
		{ "spec.headGroupSpec.template.spec.containers.0.image", "null",
		  "needs a name and an image" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"),
				     *notes = cJSON_CreateArray();
		_cleanup_free_ char *text = NULL;

		set_path(cluster, rows[i].path, rows[i].value);
		validate_cluster(cluster, notes);
		text = notes_text(notes, NOTE_SPEC_VALID);
		if (!strstr(text, rows[i].text) || (!*rows[i].text && *text))
			fail_msg("%s: %s: \"%s\" does not say \"%s\"", rows[i].path, rows[i].value,
				 text, rows[i].text);
	}
}

static char *trouble_of(const cJSON *cluster)
{
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();

	validate_cluster(cluster, notes);
	return notes_text(notes, NOTE_SPEC_VALID);
}

static void a_priority_needs_version_2_of_the_autoscaler(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
	_cleanup_free_ char *without = NULL, *with = NULL;

	(void)state;
	set_path(cluster, "spec.rayVersion", "\"2.56.0\"");
	set_path(cluster, "spec.workerGroupSpecs.0.priority", "5");
	without = trouble_of(cluster);
	assert_non_null(strstr(without, "priority needs autoscalerOptions.version v2"));
	set_path(cluster, "spec.autoscalerOptions", "{version: v2}");
	with = trouble_of(cluster);
	assert_string_equal(with, "");
}

static void clusters_of_rayjobs_and_rayservices_have_no_upgrade_strategy(void **state)
{
	static const struct {
		const char *creator, *strategy, *text;
	} rows[] = {
		{ "RayJob", "{type: Recreate}", "a cluster that a RayJob made" },
		{ "RayService", "{type: None}", "a cluster that a RayService made" },
		{ "RayJob", "{}", "" },
		{ "RayCluster", "{type: Recreate}", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = fixture("cluster.yaml");
		_cleanup_free_ char *text = NULL;

		json_set_str(json_object_at(json_get(cluster, "metadata"), "labels"),
			     "ray.io/originated-from-crd", rows[i].creator);
		set_path(cluster, "spec.upgradeStrategy", rows[i].strategy);
		text = trouble_of(cluster);
		if (!strstr(text, rows[i].text) || (!*rows[i].text && *text))
			fail_msg("row %zu: %s", i, text);
	}
}

static void rules_over_two_fields_hold(void **state)
{
	_cleanup_json_ cJSON *cluster = fixture("cluster.yaml"), *notes = cJSON_CreateArray();
	_cleanup_free_ char *text = NULL;
	cJSON *groups = json_get(cluster, "spec.workerGroupSpecs");

	(void)state;
	cJSON_AddItemToArray(groups, cJSON_Duplicate(groups->child, true));
	set_path(cluster, "spec.headGroupSpec.resources", "{CPU: 1}");
	set_path(cluster, "spec.headGroupSpec.rayStartParams", "{num-cpus: \"1\"}");
	json_set(json_get(cluster, "metadata.annotations"), "ray.io/ft-enabled",
		 cJSON_CreateString("false"));
	set_path(cluster, "spec.gcsFaultToleranceOptions", "{}");
	set_path(cluster, "spec.enableInTreeAutoscaling", "true");
	set_path(cluster, "spec.autoscalerOptions", "{version: v2}");
	set_path(cluster, "spec.headGroupSpec.template.spec.restartPolicy", "Always");
	set_path(cluster, "spec.workerGroupSpecs.0.template.spec.restartPolicy", "OnFailure");
	set_path(cluster, "spec.workerGroupSpecs.0.suspend", "true");
	set_path(cluster, "spec.headGroupSpec.template.spec.containers.0.env",
		 "[{name: RAY_REDIS_ADDRESS, value: x}, {name: REDIS_PASSWORD, value: y}]");
	validate_cluster(cluster, notes);
	text = notes_text(notes, NOTE_SPEC_VALID);
	assert_non_null(strstr(text, "two worker groups are called Small"));
	assert_non_null(strstr(text, "both resources and rayStartParams.num-cpus"));
	assert_non_null(strstr(text, "both the annotation ray.io/ft-enabled and"));
	assert_non_null(strstr(
		text,
		"group headgroup: autoscaler v2 needs restartPolicy Never (or none), not Always"));
	assert_non_null(strstr(
		text,
		"group Small: autoscaler v2 needs restartPolicy Never (or none), not OnFailure"));
	assert_non_null(strstr(text, "group Small: a group cannot be suspended"));
	assert_non_null(strstr(text, "use gcsFaultToleranceOptions.redisAddress"));
	assert_non_null(strstr(text, "use gcsFaultToleranceOptions.redisPassword"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fixture_is_valid_and_supported),
		cmocka_unit_test(each_breach_is_found_and_named),
		cmocka_unit_test(a_priority_needs_version_2_of_the_autoscaler),
		cmocka_unit_test(clusters_of_rayjobs_and_rayservices_have_no_upgrade_strategy),
		cmocka_unit_test(rules_over_two_fields_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
