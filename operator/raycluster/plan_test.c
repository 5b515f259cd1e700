/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of plans with a fixed clock (plan_world.h). Each test is a whole story. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/podspec/pod_spec.h"
#include "operator/raycluster/plan_world.h"

static void a_new_cluster_gets_everything_in_order(void **state)
{
	static const enum plan_op_kind order[] = { PLAN_APPLY, PLAN_CREATE, PLAN_CREATE,
						   PLAN_CREATE, PLAN_STATUS };
	struct world *w = *state;

	plan(w);
	assert_int_equal(w->plan.n_ops, ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_int_equal(w->plan.ops[i].kind, order[i]);
	assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "metadata.name"), "demo-head-svc");
	assert_int_equal(
		strncmp(json_str(op(w, PLAN_CREATE, 0), "metadata.name"), "demo-head-", 10), 0);
	assert_int_equal(
		strncmp(json_str(op(w, PLAN_CREATE, 1), "metadata.name"), "demo-small-worker-", 18),
		0);
	assert_int_equal(w->plan.requeue_ns, 0);
}

static void a_lost_response_creates_no_second_pod(void **state)
{
	struct world *w = *state;
	char first[POD_NAME_MAX];

	plan(w);
	snprintf(first, sizeof(first), "%s", json_str(op(w, PLAN_CREATE, 1), "metadata.name"));
	create(w, op(w, PLAN_CREATE, 2)); /* the watch has shown only the last one */
	w->unanswered[w->n_unanswered++] =
		(struct unanswered_create){ .name = first, .group = "Small" };
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 2);
	assert_string_equal(json_str(op(w, PLAN_CREATE, 1), "metadata.name"), first);
	/* It was executed after all. */
	create(w, op(w, PLAN_CREATE, 1));
	json_set_int(small_group(w), "replicas", 3);
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 2);
	assert_string_not_equal(json_str(op(w, PLAN_CREATE, 1), "metadata.name"), first);
}

static void an_unanswered_name_is_for_its_own_group(void **state)
{
	struct world *w = *state;

	w->unanswered[0] =
		(struct unanswered_create){ .name = "demo-head-bcdfg", .group = HEAD_GROUP_NAME };
	w->unanswered[1] =
		(struct unanswered_create){ .name = "demo-gone-worker-bcdfg", .group = "gone" };
	w->n_unanswered = 2;
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 3);
	assert_string_equal(json_str(op(w, PLAN_CREATE, 0), "metadata.name"), "demo-head-bcdfg");
	for (size_t i = 1; i < 3; i++)
		assert_memory_equal(json_str(op(w, PLAN_CREATE, i), "metadata.name"),
				    "demo-small-worker-", 18);
}

static void remove_label(cJSON *pod, const char *name)
{
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(pod, "metadata.labels"), name);
}

static void labels_that_were_taken_away_are_put_back(void **state)
{
	static const char *const names[] = { "ray.io/cluster", "ray.io/node-type", "ray.io/group",
					     "ray.io/is-ray-node" };
	struct world *w = *state;

	settle(w);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cJSON *head = pod_of_type(w, "head", 0);

		remove_label(head, names[i]);
		plan(w);
		assert_int_equal(w->plan.n_ops, 1);
		assert_string_equal(json_str(op(w, PLAN_MERGE, 0), "metadata.name"),
				    json_str(head, "metadata.name"));
		assert_int_equal(
			cJSON_GetArraySize(json_get(op(w, PLAN_MERGE, 0), "metadata.labels")), 1);
		execute(w);
		plan(w);
		assert_int_equal(w->plan.n_ops, 0);
	}
	json_set_str(json_get(pod_of_type(w, "worker", 1), "metadata.labels"), "ray.io/cluster",
		     "another");
	plan(w);
	assert_int_equal(w->plan.n_ops, 1);
	execute(w);
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
}

static void a_worker_whose_group_nobody_knows_is_replaced(void **state)
{
	struct world *w = *state;
	cJSON *pod;

	settle(w);
	pod = pod_of_type(w, "worker", 0);
	remove_label(pod, "ray.io/group");
	plan(w);
	assert_int_equal(count(w, PLAN_MERGE), 0);
	assert_int_equal(count(w, PLAN_DELETE), 1);
	assert_string_equal(json_str(op(w, PLAN_DELETE, 0), "metadata.uid"),
			    json_str(pod, "metadata.uid"));
	assert_int_equal(count(w, PLAN_CREATE), 1);
}

static void resources_beyond_all_numbers_are_the_largest_in_the_status(void **state)
{
	struct world *w = *state;
	cJSON *resources = json_object_at(
		cJSON_GetArrayItem(json_get(small_group(w), "template.spec.containers"), 0),
		"resources");

	json_set(
		resources, "limits",
		json_of("{cpu: 1e30, memory: 1e30, nvidia.com/gpu: 1e30, amd.com/gpu: 1e30, google.com/tpu: 1e30}"));
	json_set(resources, "requests", json_of("{memory: 1e30}"));
	json_set_int(small_group(w), "maxReplicas", 2000);
	json_set_int(small_group(w), "replicas", 2000);
	plan(w);
	const cJSON *status = json_get(op(w, PLAN_STATUS, 0), "status");
	assert_string_equal(json_str(status, "desiredCPU"), "9223372036854775807m");
	assert_string_equal(json_str(status, "desiredMemory"), "9223372036854775807");
	assert_string_equal(json_str(status, "desiredGPU"), "9223372036854775807");
	assert_string_equal(json_str(status, "desiredTPU"), "9223372036854775807");
}

static void a_settled_cluster_is_ready_and_left_alone(void **state)
{
	struct world *w = *state;
	const cJSON *status;

	settle(w);
	status = json_get(w->cluster, "status");
	assert_string_equal(json_str(status, "state"), "ready");
	assert_int_equal(json_int(status, "desiredWorkerReplicas", 0), 2);
	assert_int_equal(json_int(status, "readyWorkerReplicas", 0), 2);
	assert_int_equal(json_int(status, "availableWorkerReplicas", 0), 2);
	assert_int_equal(json_int(status, "minWorkerReplicas", 0), 1);
	assert_int_equal(json_int(status, "maxWorkerReplicas", 0), 5);
	assert_int_equal(json_int(status, "observedGeneration", 0), 3);
	/* head requests 1, workers 1500m each */
	assert_string_equal(json_str(status, "desiredCPU"), "4");
	assert_string_equal(json_str(status, "desiredMemory"), "4Gi");
	assert_string_equal(json_str(status, "desiredGPU"), "2");
	assert_string_equal(json_str(status, "head.podIP"), "10.0.0.7");
	assert_string_equal(json_str(status, "head.serviceIP"), "10.0.0.7");
	assert_string_equal(json_str(status, "head.serviceName"), "demo-head-svc");
	assert_string_equal(json_str(status, "endpoints.dashboard"), "8265");
	assert_string_equal(json_str(status, "endpoints.metrics"), "8080");
	assert_non_null(json_str(status, "stateTransitionTimes.ready"));
	expect_condition(w, "HeadPodReady", "True");
	expect_condition(w, "RayClusterProvisioned", "True");
	expect_condition(w, "RayClusterSuspended", "False");
	expect_condition(w, "afterglow.dev/MemorySafe", "True");
	expect_condition(w, "afterglow.dev/Recording", "True");
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
}

static void a_broken_sidecar_does_not_make_the_cluster_unready(void **state)
{
	struct world *w = *state;
	cJSON *sidecar = cJSON_CreateObject();

	settle(w);
	json_set_str(sidecar, "name", "afterglow");
	json_set(sidecar, "ready", cJSON_CreateFalse());
	cJSON_AddItemToArray(json_get(pod_of_type(w, "head", 0), "status.containerStatuses"),
			     sidecar);
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
}

static void more_replicas_are_clamped_and_created(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set_int(small_group(w), "replicas", 50);
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 3);
	json_set_int(small_group(w), "replicas", 0);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
}

static void too_many_workers_lose_the_least_useful_first(void **state)
{
	struct world *w = *state;
	cJSON *victim;

	json_set_int(small_group(w), "replicas", 3);
	settle(w);
	victim = pod_of_type(w, "worker", 1);
	set_phase(victim, "Running", false);
	json_set_int(small_group(w), "replicas", 2);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
	assert_string_equal(json_str(op(w, PLAN_DELETE, 0), "metadata.name"),
			    json_str(victim, "metadata.name"));
	assert_string_equal(json_str(op(w, PLAN_DELETE, 0), "metadata.uid"),
			    json_str(victim, "metadata.uid"));
}

static void named_workers_are_deleted_and_unknown_names_are_fine(void **state)
{
	struct world *w = *state;
	cJSON *names;
	const cJSON *victim;

	settle(w);
	victim = pod_of_type(w, "worker", 1);
	names = json_array_at(json_object_at(small_group(w), "scaleStrategy"), "workersToDelete");
	cJSON_AddItemToArray(names, cJSON_CreateString("nobody"));
	cJSON_AddItemToArray(
		names, cJSON_CreateString(json_str(pod_of_type(w, "head", 0), "metadata.name")));
	cJSON_AddItemToArray(names, cJSON_CreateString(json_str(victim, "metadata.name")));
	json_set_int(small_group(w), "replicas", 1);
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
	assert_string_equal(json_str(op(w, PLAN_DELETE, 0), "metadata.name"),
			    json_str(victim, "metadata.name"));
}

static void a_dead_worker_waits_for_its_evidence_then_goes_then_is_replaced(void **state)
{
	struct world *w = *state;
	cJSON *dead;

	settle(w);
	dead = pod_of_type(w, "worker", 0);
	set_phase(dead, "Failed", false);
	for (size_t i = 0; i < w->n_pods; i++)
		w->pending[i] = w->pods[i] == dead;
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	assert_true(w->plan.requeue_ns > 0);
	memset(w->pending, 0, sizeof(w->pending));
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	execute(w);
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 1);
	settle(w);
	assert_int_equal(w->n_pods, 3);
}

static void a_terminating_worker_is_replaced_under_another_name(void **state)
{
	struct world *w = *state;
	cJSON *pod;

	settle(w);
	pod = pod_of_type(w, "worker", 0);
	json_set_str(json_get(pod, "metadata"), "deletionTimestamp", "2026-11-21T01:00:00Z");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_CREATE), 1);
	assert_string_not_equal(json_str(op(w, PLAN_CREATE, 0), "metadata.name"),
				json_str(pod, "metadata.name"));
}

static void a_terminating_head_is_waited_for(void **state)
{
	struct world *w = *state;
	cJSON *head;

	settle(w);
	head = pod_of_type(w, "head", 0);
	json_set_str(json_get(head, "metadata"), "deletionTimestamp", "2026-11-21T01:00:00Z");
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	remove_pod(w, json_str(head, "metadata.name"));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 1);
}

static void set_ended(cJSON *pod, const char *policy, int exit_code)
{
	cJSON *ended = cJSON_CreateObject();

	set_phase(pod, "Running", false);
	json_set_str(json_get(pod, "spec"), "restartPolicy", policy);
	json_set_int(ended, "exitCode", exit_code);
	json_set(json_object_at(cJSON_GetArrayItem(json_get(pod, "status.containerStatuses"), 0),
				"state"),
		 "terminated", ended);
}

static void the_restart_policy_decides_over_an_ended_ray_container(void **state)
{
	static const struct {
		const char *policy;
		int exit_code;
		size_t deletes;
	} rows[] = {
		{ "Never", 1, 1 },  { "Never", 0, 1 },	   { "Always", 1, 0 },
		{ "Always", 0, 0 }, { "OnFailure", 1, 0 }, { "OnFailure", 0, 1 },
	};
	struct world *w = *state;

	settle(w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_ended(pod_of_type(w, "worker", 0), rows[i].policy, rows[i].exit_code);
		plan(w);
		assert_int_equal(count(w, PLAN_DELETE), rows[i].deletes);
	}
}

static void the_heads_trouble_names_what_is_behind_the_backoff(void **state)
{
	struct world *w = *state;
	cJSON *container;

	settle(w);
	set_phase(pod_of_type(w, "head", 0), "Running", false);
	container = cJSON_GetArrayItem(
		json_get(pod_of_type(w, "head", 0), "status.containerStatuses"), 0);
	json_set(
		container, "state",
		json_of("{waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting}}"));
	json_set(container, "lastState",
		 json_of("{terminated: {exitCode: 137, reason: OOMKilled}}"));
	plan(w);
	execute(w);
	expect_condition(w, "HeadPodReady", "False");
	assert_string_equal(json_str(condition(w, "HeadPodReady"), "reason"), "CrashLoopBackOff");
	assert_non_null(strstr(json_str(condition(w, "HeadPodReady"), "message"),
			       "back-off 5m0s restarting"));
	assert_non_null(strstr(json_str(condition(w, "HeadPodReady"), "message"),
			       "exit code 137 (OOMKilled)"));
	expect_condition(w, "RayClusterProvisioned", "True"); /* the condition stays true */
	assert_string_equal(json_str(w->cluster, "status.state"), "ready");
}

static void two_heads_are_an_error(void **state)
{
	struct world *w = *state;
	struct err err = { 0 };

	settle(w);
	w->pods[w->n_pods] = cJSON_Duplicate(pod_of_type(w, "head", 0), true);
	json_set_str(json_get(w->pods[w->n_pods++], "metadata"), "name", "another");
	assert_true(try_plan(w, &err) < 0);
	assert_non_null(strstr(err.text, "2 head pods"));
}

static void pods_of_another_owner_do_not_count(void **state)
{
	struct world *w = *state;

	settle(w);
	for (size_t i = 0; i < w->n_pods; i++)
		json_set_str(
			cJSON_GetArrayItem(json_get(w->pods[i], "metadata.ownerReferences"), 0),
			"uid", "older");
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 0);
	assert_int_equal(count(w, PLAN_CREATE), 3);
}

static void suspending_deletes_all_and_resuming_starts_anew(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set(json_get(w->cluster, "spec"), "suspend", cJSON_CreateTrue());
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 3);
	execute(w);
	expect_condition(w, "RayClusterSuspending", "True");
	settle(w);
	expect_condition(w, "RayClusterSuspended", "True");
	expect_condition(w, "RayClusterSuspending", "False");
	assert_string_equal(json_str(w->cluster, "status.state"), "suspended");
	json_set(json_get(w->cluster, "spec"), "suspend", cJSON_CreateFalse());
	plan(w);
	execute(w);
	expect_condition(w, "RayClusterProvisioned", "False");
	assert_string_equal(json_str(w->cluster, "status.state"), "");
	settle(w);
	assert_string_equal(json_str(w->cluster, "status.state"), "ready");
}

static void a_suspension_that_has_begun_is_finished_first(void **state)
{
	struct world *w = *state;
	size_t status = 0, pod = 0;

	settle(w);
	json_set(json_get(w->cluster, "spec"), "suspend", cJSON_CreateTrue());
	plan(w);
	for (size_t i = 0; i < w->plan.n_ops; i++)
		if (w->plan.ops[i].kind == PLAN_STATUS)
			status = i + 1;
		else if (w->plan.ops[i].kind == PLAN_DELETE && !pod)
			pod = i + 1;
	assert_in_range(status, 1, pod - 1);
	/* The suspension is reported, and one pod is gone, when the user changes the spec back. */
	json_set(w->cluster, "status",
		 cJSON_Duplicate(json_get(op(w, PLAN_STATUS, 0), "status"), true));
	remove_pod(w, json_str(pod_of_type(w, "worker", 0), "metadata.name"));
	json_set(json_get(w->cluster, "spec"), "suspend", cJSON_CreateFalse());
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 2);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	execute(w);
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	execute(w);
	expect_condition(w, "RayClusterSuspended", "True");
	expect_condition(w, "RayClusterSuspending", "False");
	settle(w);
	expect_condition(w, "RayClusterSuspended", "False");
	assert_int_equal(w->n_pods, 3);
}

static void a_group_that_is_removed_keeps_the_workers_that_kuberay_made(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set(json_get(pod_of_type(w, "worker", 0), "metadata"), "annotations",
		 json_of("{ray.io/ft-enabled: \"false\"}"));
	json_set(json_get(w->cluster, "spec"), "workerGroupSpecs", cJSON_CreateArray());
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 1);
}

static void a_lost_head_stays_lost_where_that_is_asked_for_and_it_was_ready_once(void **state)
{
	struct world *w = *state;

	json_set(json_get(w->cluster, "metadata"), "annotations",
		 json_of("{ray.io/disable-provisioned-head-restart: \"true\"}"));
	settle(w);
	remove_pod(w, json_str(pod_of_type(w, "head", 0), "metadata.name"));
	remove_pod(w, json_str(pod_of_type(w, "worker", 0), "metadata.name"));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 0);
	json_set(json_get(w->cluster, "metadata"), "annotations", json_of("{}"));
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 2);
}

static void a_suspended_group_and_a_removed_group_lose_their_workers(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set(small_group(w), "suspend", cJSON_CreateTrue());
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 2);
	json_set(json_get(w->cluster, "spec"), "workerGroupSpecs", cJSON_CreateArray());
	plan(w);
	assert_int_equal(count(w, PLAN_DELETE), 2);
}

static void an_invalid_spec_is_reported_once_and_nothing_is_done(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set_int(small_group(w), "minReplicas", 9);
	plan(w);
	assert_int_equal(w->plan.n_ops, 2);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "InvalidRayClusterSpec");
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "regarding.name"), "demo");
	assert_int_equal(strlen(json_str(op(w, PLAN_EVENT, 0), "eventTime")),
			 strlen("2026-11-21T01:00:00.000000Z"));
	execute(w);
	expect_condition(w, "afterglow.dev/SpecValid", "False");
	expect_condition(w, "HeadPodReady", "True");
	assert_string_equal(json_str(w->cluster, "status.state"), "ready");
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
	json_set_int(small_group(w), "minReplicas", 1);
	plan(w);
	execute(w);
	expect_condition(w, "afterglow.dev/SpecValid", "True");
}

static void memory_over_the_limit_is_reported_by_event_and_condition(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(w->cluster, "spec.headGroupSpec.rayStartParams"), "memory",
		     "4294967296");
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 3);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "MemoryOverLimit");
	execute(w);
	expect_condition(w, "afterglow.dev/MemorySafe", "False");
	plan(w);
	assert_int_equal(count(w, PLAN_EVENT), 0);
}

static void clusters_that_go_elsewhere_are_refused_and_deleted_ones_left_alone(void **state)
{
	struct world *w = *state;

	json_set_str(json_get(w->cluster, "spec"), "managedBy", "kueue.x-k8s.io/multikueue");
	plan(w);
	assert_int_equal(w->plan.n_ops, 2);
	assert_string_equal(json_str(op(w, PLAN_EVENT, 0), "reason"), "InvalidRayClusterSpec");
	execute(w);
	expect_condition(w, "afterglow.dev/SpecValid", "False");
	json_set_str(json_get(w->cluster, "spec"), "managedBy", "ray.io/kuberay-operator");
	plan(w);
	assert_true(count(w, PLAN_CREATE) > 0);
	json_set_str(json_get(w->cluster, "metadata"), "deletionTimestamp", "2026-11-21T01:00:00Z");
	plan(w);
	assert_int_equal(w->plan.n_ops, 0);
}

static void a_big_cluster_is_built_in_portions(void **state)
{
	struct world *w = *state;

	json_set_int(small_group(w), "replicas", 150);
	json_set_int(small_group(w), "maxReplicas", 150);
	plan(w);
	assert_int_equal(count(w, PLAN_CREATE), 128);
	assert_true(w->plan.requeue_ns > 0);
	settle(w);
	assert_int_equal(w->n_pods, 151);
}

static void a_plan_has_a_large_template_once_however_many_pods_it_makes(void **state)
{
	struct world *w = *state;
	char large[100001];
	size_t total = 0, creates = 0;
	struct err err = { 0 };

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	cJSON *metadata = json_object_at(json_get(small_group(w), "template"), "metadata");
	json_set_str(json_object_at(metadata, "annotations"), "a", large);
	json_set_str(json_object_at(metadata, "labels"), "l", large);
	json_set_str(cJSON_GetArrayItem(json_get(small_group(w), "template.spec.containers"), 0),
		     "image", large);
	json_set_int(small_group(w), "replicas", 1);
	json_set_int(small_group(w), "numOfHosts", 256);
	assert_int_equal(make_plan(w, &err), 0);
	for (size_t i = 0; i < w->plan.n_ops; i++) {
		_cleanup_free_ char *text = cJSON_PrintUnformatted(w->plan.ops[i].body);

		total += strlen(text);
		creates += w->plan.ops[i].template != NULL;
	}
	assert_int_equal(creates, 257);
	assert_in_range(total, 1, sizeof(large));
	_cleanup_free_ char *templates = cJSON_PrintUnformatted(w->plan.templates);
	assert_in_range(strlen(templates), 3 * sizeof(large), 4 * sizeof(large));
	/* Each pod has all of it when it is sent. */
	_cleanup_json_ cJSON *pod = plan_op_pod(&w->plan.ops[w->plan.n_ops - 2]);
	assert_string_equal(json_str(pod, "metadata.annotations.a"), large);
	assert_string_equal(json_str(pod, "metadata.labels.l"), large);
	assert_string_equal(json_str(ray_container(json_get(pod, "spec")), "image"), large);
	assert_non_null(json_str(pod, "metadata.name"));
}

static void the_service_follows_the_heads_ports_and_the_users_wishes(void **state)
{
	struct world *w = *state;
	_cleanup_json_ cJSON *service = NULL;
	const cJSON *init;

	json_set(
		json_get(w->cluster, "spec.headGroupSpec"), "headService",
		json_of("metadata: {name: mine, labels: {a: b}}\nspec: {type: NodePort, ports: [{name: dashboard, port: 80}]}"));
	json_set(json_get(w->cluster, "spec"), "headServiceAnnotations", json_of("{c: d}"));
	service = service_build(w->cluster);
	assert_string_equal(json_str(service, "metadata.name"), "mine");
	assert_string_equal(json_str(service, "metadata.labels.a"), "b");
	assert_string_equal(json_str(service, "metadata.annotations.c"), "d");
	assert_string_equal(json_str(service, "spec.type"), "NodePort");
	assert_null(json_get(service, "spec.clusterIP"));
	assert_int_equal(json_int(json_find(json_get(service, "spec.ports"), "name", "dashboard"),
				  "port", 0),
			 80);
	assert_int_equal(json_int(json_find(json_get(service, "spec.ports"), "name", "gcs-server"),
				  "port", 0),
			 6379);
	assert_int_equal(cJSON_GetArraySize(json_get(service, "spec.ports")), 3);
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 1);
	init = cJSON_GetArrayItem(json_get(op(w, PLAN_CREATE, 1), "spec.initContainers"), 0);
	assert_string_equal(
		json_str(json_find(json_get(init, "env"), "name", "FQ_RAY_IP"), "value"),
		"mine.ml.svc.cluster.local");
}

static void a_service_with_an_address_keeps_it(void **state)
{
	struct world *w = *state;

	settle(w);
	json_set_str(json_get(w->service, "spec"), "clusterIP", "10.1.2.3");
	json_set_str(json_get(w->service, "spec"), "sessionAffinity", "None");
	plan(w);
	assert_int_equal(count(w, PLAN_APPLY), 0);
	execute(w);
	assert_string_equal(json_str(w->cluster, "status.head.serviceIP"), "10.1.2.3");
	json_set(json_get(w->service, "spec"), "ports", cJSON_CreateArray());
	plan(w);
	assert_string_equal(json_str(op(w, PLAN_APPLY, 0), "spec.clusterIP"), "10.1.2.3");
}

static void names_are_cut_lowered_and_distinct(void **state)
{
	struct world *w = *state;
	char a[POD_NAME_MAX], b[POD_NAME_MAX];

	json_set_str(json_get(w->cluster, "metadata"), "name",
		     "a2345678901234567890123456789012345678901234567890123");
	pod_name(w->cluster, RAY_WORKER, "Group", "s", 0, a);
	pod_name(w->cluster, RAY_WORKER, "Group", "s", 1, b);
	assert_int_equal(strlen(a), 63);
	assert_string_not_equal(a, b);
	pod_name(w->cluster, RAY_WORKER, "Group", "another seed", 0, b);
	assert_string_not_equal(a, b);
	assert_int_equal(
		strncmp(a, "a2345678901234567890123456789012345678901234567890-worker-", 58), 0);
	json_set_str(json_get(w->cluster, "metadata"), "name", "x");
	pod_name(w->cluster, RAY_WORKER, "Group", "s", 0, a);
	assert_int_equal(strncmp(a, "x-group-worker-", 15), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_new_cluster_gets_everything_in_order),
		TEST(a_lost_response_creates_no_second_pod),
		TEST(an_unanswered_name_is_for_its_own_group),
		TEST(labels_that_were_taken_away_are_put_back),
		TEST(a_worker_whose_group_nobody_knows_is_replaced),
		TEST(resources_beyond_all_numbers_are_the_largest_in_the_status),
		TEST(a_settled_cluster_is_ready_and_left_alone),
		TEST(a_broken_sidecar_does_not_make_the_cluster_unready),
		TEST(more_replicas_are_clamped_and_created),
		TEST(too_many_workers_lose_the_least_useful_first),
		TEST(named_workers_are_deleted_and_unknown_names_are_fine),
		TEST(a_dead_worker_waits_for_its_evidence_then_goes_then_is_replaced),
		TEST(a_terminating_worker_is_replaced_under_another_name),
		TEST(a_terminating_head_is_waited_for),
		TEST(the_restart_policy_decides_over_an_ended_ray_container),
		TEST(the_heads_trouble_names_what_is_behind_the_backoff),
		TEST(two_heads_are_an_error),
		TEST(pods_of_another_owner_do_not_count),
		TEST(suspending_deletes_all_and_resuming_starts_anew),
		TEST(a_suspension_that_has_begun_is_finished_first),
		TEST(a_group_that_is_removed_keeps_the_workers_that_kuberay_made),
		TEST(a_lost_head_stays_lost_where_that_is_asked_for_and_it_was_ready_once),
		TEST(a_suspended_group_and_a_removed_group_lose_their_workers),
		TEST(an_invalid_spec_is_reported_once_and_nothing_is_done),
		TEST(memory_over_the_limit_is_reported_by_event_and_condition),
		TEST(clusters_that_go_elsewhere_are_refused_and_deleted_ones_left_alone),
		TEST(a_big_cluster_is_built_in_portions),
		TEST(a_plan_has_a_large_template_once_however_many_pods_it_makes),
		TEST(the_service_follows_the_heads_ports_and_the_users_wishes),
		TEST(a_service_with_an_address_keeps_it),
		TEST(names_are_cut_lowered_and_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
