/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests as people write them for KubeRay, and the pods that KubeRay's facts ask for, whole: each file of
 * testdata/kuberay has the cluster, the pod of each group (headgroup is the head's), and what else is made of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/notes.h"
#include "operator/raycluster/pod_template.h"
#include "operator/raycluster/service.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

static void append_all(cJSON *to, const cJSON *from)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, from)
		json_append(to, cJSON_Duplicate(item, true));
}

/* A worker without a sidecar waits for the head's GCS first: a script that has the command and its arguments as its own. */
static cJSON *with_wait(const cJSON *want, const cJSON *have)
{
	cJSON *copy = cJSON_Duplicate(want, true), *ray = cJSON_GetArrayItem(json_get(copy, "spec.containers"), 0),
	      *args = cJSON_CreateArray();
	const cJSON *command = json_get(cJSON_GetArrayItem(json_get(have, "spec.containers"), 0), "command");

	append_all(args, json_get(ray, "command"));
	append_all(args, json_get(ray, "args"));
	json_set(ray, "args", args);
	json_set(ray, "command", cJSON_Duplicate(command, true));
	return copy;
}

static bool waits(const cJSON *pod)
{
	const cJSON *command = json_get(cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0), "command");
	const char *script = cJSON_GetStringValue(cJSON_GetArrayItem(command, 2));

	return script && strstr(script, "/dev/tcp/$FQ_RAY_IP/");
}

static int compare_pod(const cJSON *doc, const struct policy *policy, enum ray_node node, const cJSON *group)
{
	const cJSON *cluster = json_get(doc, "cluster"),
		    *want = cJSON_GetObjectItemCaseSensitive(json_get(doc, "pods"), group_name(node, group));
	_cleanup_json_ cJSON *notes = cJSON_CreateArray(), *pod = NULL;
	struct pod_request req = { .cluster = cluster, .node = node, .group = group, .policy = policy };
	struct err err = { 0 };

	if (pod_build(&req, &pod, notes, &err) < 0)
		fail_msg("%s", err.text);
	/* What the hash is made of has a test of its own. */
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata.annotations"), "afterglow.dev/recreate-hash");
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata.annotations"), "ray.io/kuberay-version");
	assert_false(waits(pod) && node == RAY_HEAD);
	_cleanup_json_ cJSON *waiting = waits(pod) ? with_wait(want, pod) : NULL;
	return differences(pod, waiting ? waiting : want, group_name(node, group));
}

static int compare(const char *name)
{
	_cleanup_json_ cJSON *doc = fixture(name), *service = NULL, *objects = NULL, *notes = cJSON_CreateArray();
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
		objects = autoscaler_objects(cluster);
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
