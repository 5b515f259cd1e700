/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of who says that he deleted a pod, with texts as the projects write them and with forged
 * ones.
 */
#include "operator/fate/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/testing.h"

/* 2026-11-21T01:00:00Z */
#define T0 1795222800
#define EVENT(reason, message) "items:\n- {reason: " reason ", message: '" message "', involvedObject: {uid: u1}, " \
			       "firstTimestamp: '2026-11-21T01:00:00Z', lastTimestamp: '2026-11-21T01:00:00Z'}\n"

static const struct claim_pod pod = {
	.namespace = "ml", .name = "demo-w-1", .uid = "u1", .cluster = "demo", .group = "small",
	.from_ns = (T0 - 60) * NS_PER_SEC, .to_ns = (T0 + 60) * NS_PER_SEC,
};

static void the_pods_own_events_name_who_evicted_it(void **state)
{
	static const struct {
		const char *events, *kind, *reason; /* kind NULL: nobody does */
	} rows[] = {
		{ EVENT("Preempted", "Preempted by pod 7a1c on node n1"), "Scheduler", "Preempted by pod 7a1c on node n1" },
		{ EVENT("Preempting", "Preempted in order to admit critical pod"), "Kubelet", "critical" },
		{ EVENT("ScaleDown", "deleting pod for node scale down"), "ClusterAutoscaler", "removes the node" },
		{ EVENT("Evicted", "Evicted pod: SpotInterruption"), "Karpenter", "SpotInterruption" },
		{ EVENT("Disrupted", "Deleting the pod to accommodate the terminationTime 2026 of the node."), "Karpenter", "removes the node" },
		{ EVENT("PodEviction", "Pod evicted due to node drain (node n1)"), "AWSNodeTermination", "drained" },
		{ EVENT("LowNodeUtilization", "pod eviction from n1 node by sigs.k8s.io/descheduler"), "Descheduler", "sigs.k8s.io" },
		{ EVENT("EvictionFailed", "pod eviction from n1 node by sigs.k8s.io/descheduler failed: total eviction limit exceeded"), NULL, NULL },
		{ EVENT("TaintManagerEviction", "Marking for deletion Pod ml/demo-w-1"), "TaintEviction", "Marking" },
		{ EVENT("TaintManagerEviction", "Cancelling deletion of Pod ml/demo-w-1"), NULL, NULL },
		{ EVENT("Evicted", "The node was low on resource: memory."), NULL, NULL },
		{ EVENT("Killing", "Stopping container ray-worker"), NULL, NULL },
		{ "items: [5, {}, {reason: 7, message: []}]", NULL, NULL },
		{ "items: {}", NULL, NULL },
		/* The Event is about another pod, or of another time. */
		{ "items:\n- {reason: ScaleDown, message: deleting pod for node scale down, involvedObject: {uid: u2}, "
		  "lastTimestamp: '2026-11-21T01:00:00Z'}\n", NULL, NULL },
		{ "items:\n- {reason: ScaleDown, message: deleting pod for node scale down, involvedObject: {uid: u1}, "
		  "lastTimestamp: '2026-11-21T00:00:00Z'}\n", NULL, NULL },
		{ "items:\n- {reason: ScaleDown, message: deleting pod for node scale down, involvedObject: {uid: u1}}\n", NULL, NULL },
		/* The newer kind of Event has no first and last time. */
		{ "items:\n- {reason: Preempted, message: Preempted by pod x, involvedObject: {uid: u1}, firstTimestamp: null, "
		  "eventTime: '2026-11-21T01:00:00.123456Z'}\n", "Scheduler", "by pod x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *events = json_of(rows[i].events);
		struct claim claim = { 0 };
		bool found = claim_by_pod_events(events, &pod, &claim);

		if (found != (rows[i].kind != NULL) ||
		    (found && (strcmp(ended_by_kind_name(claim.by.kind), rows[i].kind) != 0 ||
			       !strstr(claim.by.reason, rows[i].reason))))
			fail_msg("row %zu: %s: %s", i, ended_by_kind_name(claim.by.kind),
				 claim.by.reason);
	}
}

/* KubeRay 1.6.2 and 1.7.0 write them like this; claim.h names the source. */
static void events_of_the_raycluster_name_who_deleted_its_pods(void **state)
{
	static const struct {
		const char *events;
		bool autoscaled;
		const char *kind, *reason;
	} rows[] = {
		{ EVENT("DeletedWorkerPod", "Deleted pod ml/demo-w-1"), true, "RayAutoscaler", "scaled the group down" },
		{ EVENT("DeletedWorkerPod", "Deleted pod ml/demo-w-1"), false, "KubeRay", "workersToDelete" },
		{ EVENT("DeletedWorkerPod", "Deleted Pod ml/demo-w-1"), false, "KubeRay", "fewer replicas" },
		{ EVENT("DeletedWorkerPod", "Deleted worker Pod ml/demo-w-1; Pod status: Failed; Pod restart policy: Never; Ray container "
					   "terminated status: nil"), false, "KubeRay", "end of its Ray container" },
		{ EVENT("DeletedWorkerPod", "Deleted worker Pod ml/demo-w-1 for group small: autoscaler scale-down request"), true,
		  "RayAutoscaler", "scaled" },
		{ EVENT("DeletedWorkerPod", "Deleted worker Pod ml/demo-w-1 for group small: cleanup of incomplete multi-host group"), true,
		  "KubeRay", "cleanup of incomplete multi-host group" },
		{ EVENT("DeletedWorkerPod", "Deleted all pods for suspended worker group small in RayCluster ml/demo"), false, "KubeRay", "suspended" },
		{ EVENT("DeletedWorkerPod", "Deleted all pods for suspended worker group smaller in RayCluster ml/demo"), false, NULL, NULL },
		{ EVENT("DeletedPod", "Deleted Pods for RayCluster ml/demo due to suspension"), false, "KubeRay", "suspended" },
		{ EVENT("DeletedPod", "Deleted all Pods for RayCluster ml/demo due to spec change with Recreate upgradeStrategy"), false,
		  "KubeRay", "Recreate" },
		{ EVENT("DeletedWorkerPod", "(combined from similar events): Deleted pod ml/demo-w-1"), true, "RayAutoscaler", "scaled" },
		/* This Event is not about this pod. */
		{ EVENT("DeletedWorkerPod", "Deleted pod ml/demo-w-11"), true, NULL, NULL },
		{ EVENT("DeletedWorkerPod", "Deleted pod xml/demo-w-1"), true, NULL, NULL },
		{ EVENT("FailedToDeleteWorkerPod", "Failed deleting pod ml/demo-w-1, x"), true, NULL, NULL },
		{ EVENT("CreatedWorkerPod", "Created worker Pod ml/demo-w-1"), true, NULL, NULL },
		/* Events of our own operator, and a similar text by another author. */
		{ "items:\n- {reason: DeletedWorkerPod, message: 'Deleted 2 worker Pods of group small: ml/demo-w-0, ml/demo-w-1', "
		  "reportingComponent: afterglow.dev/operator, eventTime: '2026-11-21T01:00:00.000000Z'}", false, "Afterglow", "fewer pods" },
		{ "items:\n- {reason: DeletedWorkerPod, message: 'Deleted worker Pod ml/demo-w-1', "
		  "eventTime: '2026-11-21T01:00:00.000000Z'}", false, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *events = json_of(rows[i].events);
		struct claim claim = { 0 };
		bool found = claim_by_cluster_events(events, &pod, rows[i].autoscaled, &claim);

		if (found != (rows[i].kind != NULL) ||
		    (found && (strcmp(ended_by_kind_name(claim.by.kind), rows[i].kind) != 0 ||
			       !strstr(claim.by.reason, rows[i].reason))))
			fail_msg("row %zu: %s: %s", i, ended_by_kind_name(claim.by.kind),
				 claim.by.reason);
		if (found)
			assert_string_equal(claim.by.name, "RayCluster/demo");
	}
}

static void the_raycluster_says_what_was_asked_of_it(void **state)
{
	static const struct {
		const char *cluster, *kind, *reason;
	} rows[] = {
		{ "spec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, scaleStrategy: {workersToDelete: [x, demo-w-1]}}]}",
		  "RayAutoscaler", "scaled" },
		{ "spec: {workerGroupSpecs: [{groupName: small, scaleStrategy: {workersToDelete: [demo-w-1]}}]}", "Client", "scaled" },
		{ "spec: {workerGroupSpecs: [{groupName: other, scaleStrategy: {workersToDelete: [demo-w-1]}}]}", NULL, NULL },
		{ "spec: {workerGroupSpecs: [{groupName: small, suspend: true}]}", "Client", "suspended the worker group" },
		{ "spec: {suspend: true}", "Client", "suspended the RayCluster" },
		{ "spec: {suspend: false, workerGroupSpecs: [{groupName: small, scaleStrategy: {workersToDelete: 7}}, 5]}", NULL, NULL },
		{ "spec: 7", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = json_of(rows[i].cluster);
		struct claim claim = { 0 };
		bool found = claim_by_cluster(cluster, &pod, &claim);

		if (found != (rows[i].kind != NULL) ||
		    (found && (strcmp(ended_by_kind_name(claim.by.kind), rows[i].kind) != 0 ||
			       !strstr(claim.by.reason, rows[i].reason))))
			fail_msg("row %zu: %s: %s", i, ended_by_kind_name(claim.by.kind),
				 claim.by.reason);
	}
	assert_false(claim_by_cluster(NULL, &pod, &(struct claim){ 0 }));
}

static void a_rayjob_says_why_its_cluster_goes(void **state)
{
	static const struct {
		const char *job, *kind, *reason;
	} rows[] = {
		{ "{jobDeploymentStatus: Complete, rayClusterName: demo}", "KubeRay", "the RayJob finished, and KubeRay deletes its cluster (ttlSecondsAfterFinished 60)" },
		{ "{jobDeploymentStatus: Failed, rayClusterName: demo}", "KubeRay", "the RayJob failed" },
		{ "{jobDeploymentStatus: Retrying}", "KubeRay", "tries again" },
		{ "{jobDeploymentStatus: Running, rayClusterName: demo-2}", "KubeRay", "tries again" },
		{ "{jobDeploymentStatus: Suspending, rayClusterName: demo}", "KubeRay", "suspended" },
		/* The job was running: somebody deleted its cluster. */
		{ "{jobDeploymentStatus: Running, rayClusterName: demo}", NULL, NULL },
		{ "{}", NULL, NULL },
	};
	_cleanup_json_ cJSON *deleted =
		json_of("metadata: {name: j, deletionTimestamp: '2026-11-21T01:00:00Z'}");
	struct claim claim = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[400];

		snprintf(yaml, sizeof(yaml),
			 "metadata: {name: j}\nspec: {ttlSecondsAfterFinished: 60}\nstatus: %s\n",
			 rows[i].job);
		_cleanup_json_ cJSON *job = json_of(yaml);
		bool found = claim_by_job(job, &pod, &claim);

		if (found != (rows[i].kind != NULL) ||
		    (found && (strcmp(ended_by_kind_name(claim.by.kind), rows[i].kind) != 0 ||
			       !strstr(claim.by.reason, rows[i].reason))))
			fail_msg("row %zu: %s: %s", i, ended_by_kind_name(claim.by.kind),
				 claim.by.reason);
	}
	_cleanup_json_ cJSON *submitter = json_of(
		"metadata: {name: j}\nstatus: {jobDeploymentStatus: Failed, reason: SubmissionFailed, message: 'BackoffLimitExceeded'}\n");
	assert_true(claim_by_job(submitter, &pod, &claim));
	assert_string_equal(claim.evidence,
			    "jobDeploymentStatus Failed, SubmissionFailed: BackoffLimitExceeded");
	/* KubeRay's message may quote the program of the job. */
	_cleanup_json_ cJSON *hostile = json_of(
		"metadata: {name: j}\n"
		"status: {jobDeploymentStatus: Failed, message: \"\\e[2Jdone\\nclass: Unknown\"}\n");
	assert_true(claim_by_job(hostile, &pod, &claim));
	assert_string_equal(claim.evidence,
			    "jobDeploymentStatus Failed: ?[2Jdone?class: Unknown");
	assert_true(claim_by_job(deleted, &pod, &claim));
	assert_int_equal(claim.by.kind, ENDED_BY_CLIENT);
	assert_false(claim_by_job(NULL, &pod, &claim));
}

static void events_of_the_owner_and_of_the_node_are_understood(void **state)
{
	_cleanup_json_ cJSON *service =
		json_of(EVENT("DeletedRayCluster", "Deleted the RayCluster ml/demo"));
	_cleanup_json_ cJSON *other =
		json_of(EVENT("DeletedRayCluster", "Deleted the RayCluster ml/demo-2"));
	_cleanup_json_ cJSON *dotted =
		json_of(EVENT("DeletedRayCluster", "Deleted the RayCluster ml/demo.x"));
	_cleanup_json_ cJSON *sentence =
		json_of(EVENT("DeletedRayCluster", "Deleted the RayCluster ml/demo."));
	_cleanup_json_ cJSON *spot =
		json_of(EVENT("SpotInterruption", "Spot Interruption notice for instance i-1"));
	_cleanup_json_ cJSON *scaled =
		json_of(EVENT("ScaleDown", "marked the node as toBeDeleted/unschedulable"));
	_cleanup_json_ cJSON *quiet =
		json_of(EVENT("NodeNotReady", "Node n1 status is now: NodeNotReady"));
	struct claim claim = { 0 };

	(void)state;
	assert_true(claim_by_owner_events(service, &pod, "RayService", "serve", &claim));
	assert_int_equal(claim.by.kind, ENDED_BY_KUBERAY);
	assert_string_equal(claim.by.name, "RayService/serve");
	assert_false(claim_by_owner_events(other, &pod, "RayService", "serve", &claim));
	/* A dot ends a sentence, or goes on with a name. */
	assert_false(claim_by_owner_events(dotted, &pod, "RayService", "serve", &claim));
	assert_true(claim_by_owner_events(sentence, &pod, "RayService", "serve", &claim));
	assert_true(claim_by_node_events(spot, &pod, "n1", &claim));
	assert_int_equal(claim.by.kind, ENDED_BY_AWS_TERMINATION);
	assert_true(claim_by_node_events(scaled, &pod, "n1", &claim));
	assert_int_equal(claim.by.kind, ENDED_BY_CLUSTER_AUTOSCALER);
	assert_string_equal(claim.by.name, "Node/n1");
	assert_false(claim_by_node_events(quiet, &pod, "n1", &claim));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pods_own_events_name_who_evicted_it),
		cmocka_unit_test(events_of_the_raycluster_name_who_deleted_its_pods),
		cmocka_unit_test(the_raycluster_says_what_was_asked_of_it),
		cmocka_unit_test(a_rayjob_says_why_its_cluster_goes),
		cmocka_unit_test(events_of_the_owner_and_of_the_node_are_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
