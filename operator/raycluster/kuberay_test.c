/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests with manifests as people write them for KubeRay, and whole pods as KubeRay would make them:
 * each file of testdata/kuberay has the cluster, the pod of each group (headgroup is the head's),
 * and the other objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/raycluster/autoscaler.h"
#include "operator/podspec/notes.h"
#include "operator/injection/launch_script.h"
#include "operator/raycluster/pod_template.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

/*
 * Removes the wait for the head's GCS, so that the rest can be compared. KubeRay waits in an init
 * container, we wait before the command. want_command has as many words as the command that follows
 * the wait.
 */
static void take_wait_away(const cJSON *cluster, cJSON *pod, const cJSON *want_command)
{
	cJSON *container = cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0);
	cJSON *command = json_get(container, "command"), *args = json_get(container, "args");
	_cleanup_free_ char *wait = wait_script(head_gcs_port(cluster));
	const char *script =
		cJSON_GetStringValue(cJSON_GetArrayItem(command, cJSON_GetArraySize(command) - 2));

	assert_non_null(wait);
	if (!script || strcmp(script, wait) != 0)
		return;
	while (cJSON_GetArraySize(command))
		cJSON_DeleteItemFromArray(command, 0);
	for (int i = 0; i < cJSON_GetArraySize(want_command); i++)
		cJSON_AddItemToArray(command, cJSON_DetachItemFromArray(args, 0));
}

static int compare_pod(const cJSON *doc, const struct policy *policy, enum ray_node node,
		       const cJSON *group)
{
	const cJSON *cluster = json_get(doc, "cluster"),
		    *want = cJSON_GetObjectItemCaseSensitive(json_get(doc, "pods"), group_name(node, group));
	_cleanup_json_ cJSON *notes = cJSON_CreateArray(), *pod = NULL;
	struct pod_request req = {
		.cluster = cluster, .node = node, .group = group, .policy = policy
	};
	struct err err = { 0 };

	if (pod_build(&req, &pod, notes, &err) < 0)
		fail_msg("%s", err.text);
	if (node == RAY_WORKER)
		take_wait_away(cluster, pod,
			       json_get(cJSON_GetArrayItem(json_get(want, "spec.containers"), 0),
					"command"));
	/* The hash is tested elsewhere. */
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata.annotations"),
						"afterglow.dev/recreate-hash");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata.annotations"),
						"ray.io/kuberay-version");
	return differences(pod, want, group_name(node, group));
}

static int compare(const char *name)
{
	_cleanup_json_ cJSON *doc = fixture(name), *service = NULL, *objects = NULL,
			     *notes = cJSON_CreateArray();
	const cJSON *cluster = json_get(doc, "cluster"), *group;
	_cleanup_(policy_release) struct policy policy = { 0 };
	int n;

	assert_int_equal(policy_init(&policy, NULL), 0);
	validate_cluster(cluster, notes);
	assert_int_equal(cJSON_GetArraySize(notes), 0);
	n = compare_pod(doc, &policy, RAY_HEAD, json_get(cluster, "spec.headGroupSpec"));
	cJSON_ArrayForEach(group, json_get(cluster, "spec.workerGroupSpecs"))
		n += compare_pod(doc, &policy, RAY_WORKER, group);
	if (json_get(doc, "service")) {
		service = service_build(cluster);
		n += differences(service, json_get(doc, "service"), "service");
	}
	if (json_get(doc, "objects")) {
		objects = cJSON_CreateArray();
		json_append(objects, autoscaler_account(cluster));
		json_append(objects, autoscaler_role(cluster));
		json_append(objects, autoscaler_binding(cluster));
		n += differences(objects, json_get(doc, "objects"), "objects");
	}
	return n;
}

#define CASE(name, file)                            \
	static void name(void **state)              \
	{                                           \
		(void)state;                        \
		assert_int_equal(compare(file), 0); \
	}
CASE(complete_templates_keep_all_that_they_hold, "kuberay/complete.yaml")
CASE(the_autoscaler_and_the_token, "kuberay/autoscaler.yaml")
CASE(the_state_in_redis, "kuberay/redis.yaml")
CASE(commands_of_the_users, "kuberay/commands.yaml")
CASE(groups_resources_and_labels, "kuberay/groups.yaml")

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_templates_keep_all_that_they_hold),
		cmocka_unit_test(the_autoscaler_and_the_token),
		cmocka_unit_test(the_state_in_redis),
		cmocka_unit_test(commands_of_the_users),
		cmocka_unit_test(groups_resources_and_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
