/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what follows for a pod's end from its node, Events, RayCluster and RayJob, and of which
 * of them are read.
 */
#include "operator/fate/fate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/testing.h"

/*
 * The container ended at 01:05:00, a second after its deletion was requested. It is looked at a
 * second later.
 */
#define T_NOW (1795223101 * NS_PER_SEC)
#define WHOSE "pod: demo-w-1, podUID: u1, container: ray-worker, node: n1, cluster: demo, group: small, " \
	      "startedAt: '2026-11-21T01:00:00Z', endedAt: '2026-11-21T01:05:00Z', exitCode: 143, evidence: [], "
#define FAILURE(class, confidence, by) \
	"metadata: {namespace: ml, name: x, labels: {afterglow.dev/class: " class "}}\n" \
	"spec: {" WHOSE "class: " class ", confidence: " confidence ", verdict: 'Container ray-worker of demo-w-1 ended', " by "}\n"
#define BY(kind) "endedBy: {kind: " kind ", time: '2026-11-21T01:04:59Z'}"
#define DELETED FAILURE("PodDeleted", "likely", BY("Client"))
#define EVICTED_BY_API FAILURE("PodDeleted", "certain", BY("EvictionAPI"))
#define BY_TAINT FAILURE("NodeLost", "likely", BY("TaintEviction"))
#define BY_GC FAILURE("NodeLost", "likely", BY("PodGC"))
#define NODE(taints) "metadata: {name: n1, creationTimestamp: '2026-11-20T00:00:00Z'}\nspec: {taints: [" taints "]}\n"
#define CORDON "{key: node.kubernetes.io/unschedulable, effect: NoSchedule}"
#define EVENT(reason, message) "items:\n- {reason: " reason ", message: '" message "', involvedObject: {uid: u1}, " \
			       "firstTimestamp: '2026-11-21T01:04:59Z', lastTimestamp: '2026-11-21T01:04:59Z'}\n"

static const struct {
	const char *what, *failure, *node, *pod_events, *cluster, *cluster_events;
	/* Missing NULL: nothing is missing. */
	const char *class, *confidence, *kind, *verdict, *missing;
	enum fate_state node_state, cluster_state;
} rows[] = {
	{ "nobody says anything", DELETED, NODE(""), "items: []", "spec: {}", "items: []", "PodDeleted", "likely", "Client",
	  "(by a client of the API)", "which client of the API it was", FATE_FOUND, FATE_FOUND },
	{ "a node that may not be read", DELETED, NULL, NULL, NULL, NULL, "PodDeleted", "likely", "Client", "(by a client of the API)",
	  "may not read nodes", FATE_REFUSED, FATE_UNSEEN },
	{ "a drain by deletion", DELETED, NODE(CORDON), NULL, "spec: {}", NULL, "NodeShutdown", "likely", "Drain",
	  "most likely ended because its node was drained, reclaimed or shut down (most likely by a drain of its node: the node is cordoned)",
	  NULL, FATE_FOUND, FATE_FOUND },
	{ "kubectl drain", EVICTED_BY_API, NODE(CORDON), "items: []", NULL, NULL, "NodeShutdown", "likely", "Drain", "drained", NULL,
	  FATE_FOUND, FATE_UNSEEN },
	{ "a spot instance that AWS took", EVICTED_BY_API, NODE("{key: aws-node-termination-handler/spot-itn, effect: NoSchedule}, " CORDON),
	  EVENT("PodEviction", "Pod evicted due to node drain (node n1)"), NULL, NULL, "NodeShutdown", "likely", "AWSNodeTermination",
	  "its spot instance was interrupted", NULL, FATE_FOUND, FATE_UNSEEN },
	{ "Karpenter, by its Event on a cordoned node", EVICTED_BY_API, NODE(CORDON), EVENT("Evicted", "Evicted pod: Underutilized"),
	  NULL, NULL, "NodeShutdown", "likely", "Karpenter", "by Karpenter", "proof of who wrote that Event", FATE_FOUND, FATE_UNSEEN },
	{ "the descheduler takes no node", EVICTED_BY_API, NODE(""), EVENT("LowNodeUtilization", "pod eviction by sigs.k8s.io/descheduler"),
	  NULL, NULL, "PodDeleted", "certain", "Descheduler", "(most likely by the descheduler", "proof of who wrote that Event", FATE_FOUND,
	  FATE_UNSEEN },
	{ "an eviction that nobody claims", EVICTED_BY_API, NODE(""), "items: []", NULL, NULL, "PodDeleted", "certain", "EvictionAPI",
	  "(by a client of the Eviction API)", "which client", FATE_FOUND, FATE_UNSEEN },
	{ "the autoscaler's deletion on a cordoned node is the autoscaler's", DELETED, NODE(CORDON), NULL,
	  "spec: {enableInTreeAutoscaling: true}", EVENT("DeletedWorkerPod", "Deleted pod ml/demo-w-1"), "PodDeleted", "likely", "RayAutoscaler",
	  "(most likely by Ray''s autoscaler: it scaled the group down)", NULL, FATE_FOUND, FATE_FOUND },
	{ "without Events the RayCluster tells", DELETED, NODE(""), NULL,
	  "spec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, scaleStrategy: {workersToDelete: [demo-w-1]}}]}", NULL,
	  "PodDeleted", "likely", "RayAutoscaler", "scaled", NULL, FATE_FOUND, FATE_FOUND },
	{ "a RayCluster that is deleted", DELETED, NODE(""), NULL, "metadata: {deletionTimestamp: '2026-11-21T01:04:58Z'}", NULL, "PodDeleted",
	  "likely", "Client", "it deleted the RayCluster", NULL, FATE_FOUND, FATE_FOUND },
	{ "a RayCluster that went", DELETED, NODE(""), NULL, NULL, NULL, "PodDeleted", "likely", "Client", "it deleted the RayCluster", NULL,
	  FATE_FOUND, FATE_ABSENT },
	{ "a mark of later than the end", DELETED, NODE("{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: '2026-11-21T01:06:00Z'}"),
	  "items: []", "spec: {}", "items: []", "PodDeleted", "likely", "Client", "client of the API", "which client", FATE_FOUND, FATE_FOUND },
	{ "another node of that name", DELETED, "metadata: {name: n1, creationTimestamp: '2026-11-21T01:06:00Z'}\nspec: {taints: [" CORDON "]}",
	  "items: []", "spec: {}", "items: []", "PodDeleted", "likely", "Client", "client of the API", "which client", FATE_FOUND, FATE_FOUND },
	/* Deletions by the taint controller. */
	{ "a node that does not answer", BY_TAINT, NODE("{key: node.kubernetes.io/unreachable, effect: NoExecute}"), NULL, NULL, NULL, "NodeLost",
	  "likely", "TaintEviction", "the node does not answer", NULL, FATE_FOUND, FATE_UNSEEN },
	{ "a reclaimed machine does not answer", BY_TAINT,
	  NODE("{key: node.kubernetes.io/unreachable, effect: NoExecute}, {key: cloud.google.com/impending-node-termination, effect: NoSchedule}"),
	  NULL, NULL, NULL, "NodeShutdown", "likely", "GKENodeTermination", "GKE", NULL, FATE_FOUND, FATE_UNSEEN },
	{ "a taint of somebody's own: the node is there", BY_TAINT, NODE("{key: example.com/maintenance, value: 'yes', effect: NoExecute}"), NULL,
	  NULL, NULL, "PodDeleted", "likely", "TaintEviction", "taint example.com/maintenance=yes:NoExecute", NULL, FATE_FOUND, FATE_UNSEEN },
	{ "a node that may not be read, lost", BY_TAINT, NULL, NULL, NULL, NULL, "NodeLost", "likely", "TaintEviction", "ended",
	  "may not read nodes", FATE_REFUSED, FATE_UNSEEN },
	{ "a node that was deleted", BY_GC, NULL, NULL, NULL, NULL, "NodeLost", "likely", "PodGC", "ended", NULL, FATE_ABSENT, FATE_UNSEEN },
	/* Facts that the status itself has. */
	{ "a preemption, and for whom", FAILURE("Preempted", "certain", BY("Scheduler")), NULL,
	  EVENT("Preempted", "Preempted by pod 7a1c on node n1"), NULL, NULL, "Preempted", "certain", "Scheduler",
	  "(most likely by the scheduler: Preempted by pod 7a1c on node n1)", "who wrote that Event", FATE_UNSEEN, FATE_UNSEEN },
	{ "a shutdown, and why", FAILURE("NodeShutdown", "certain", BY("Kubelet")),
	  NODE("{key: cloud.google.com/impending-node-termination, effect: NoSchedule}"), NULL, NULL, NULL, "NodeShutdown", "certain",
	  "GKENodeTermination", "(most likely by the termination handler of GKE", NULL, FATE_FOUND, FATE_UNSEEN },
	/* Nobody deleted the pod. */
	{ "SIGTERM on a machine that goes", FAILURE("Terminated", "certain", "signal: SIGTERM"),
	  NODE("{key: aws-node-termination-handler/spot-itn, effect: NoSchedule}"), "items: []", NULL, NULL, "NodeShutdown", "likely",
	  "AWSNodeTermination", "spot instance", "who sent SIGTERM", FATE_FOUND, FATE_UNSEEN },
	{ "SIGTERM on a node that is only cordoned", FAILURE("Terminated", "certain", "signal: SIGTERM"), NODE(CORDON), "items: []", NULL, NULL,
	  "Terminated", "certain", "", "ended", NULL, FATE_FOUND, FATE_UNSEEN },
	{ "a segmentation fault on a node that goes", FAILURE("Segfault", "certain", "signal: SIGSEGV"),
	  NODE("{key: karpenter.sh/disrupted, effect: NoSchedule}"), NULL, NULL, NULL, "Segfault", "certain", "", "ended", NULL, FATE_FOUND,
	  FATE_UNSEEN },
};

static bool is_missing(const cJSON *failure, const char *part)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_get(failure, "spec.missing"))
		if (!part || strstr(json_str(entry, "what"), part))
			return true;
	return false;
}

/* Returns whether the failure has this text. "''" stands for "'", as in YAML. */
static bool says(const cJSON *failure, const char *wanted)
{
	char text[400];
	size_t n = 0;

	for (; *wanted && n + 1 < sizeof(text); wanted++) {
		wanted += wanted[0] == '\'' && wanted[1] == '\'';
		text[n++] = *wanted;
	}
	text[n] = '\0';
	return strstr(json_str(failure, "spec.verdict"), text);
}

static cJSON *json_or_null(const char *yaml)
{
	return yaml ? json_of(yaml) : NULL;
}

/* Returns the failure as JSON, after fate_refine. */
static cJSON *refined(const char *yaml, const struct fate_facts *facts)
{
	struct ray_failure *failure = failure_of_yaml(yaml);

	fate_refine(failure, facts);
	return json_of_failure(failure);
}

static void each_trace_leads_to_who_ended_the_pod(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *node = json_or_null(rows[i].node);
		_cleanup_json_ cJSON *pod_events = json_or_null(rows[i].pod_events),
				     *cluster = json_or_null(rows[i].cluster);
		_cleanup_json_ cJSON *cluster_events = json_or_null(rows[i].cluster_events);
		struct fate_facts facts = { .asked = ~0u,
					    .node = node,
					    .pod_events = pod_events,
					    .cluster = cluster,
					    .cluster_events = cluster_events,
					    .node_state = rows[i].node_state,
					    .cluster_state = rows[i].cluster_state,
					    .now_ns = T_NOW };
		_cleanup_json_ cJSON *failure = refined(rows[i].failure, &facts);
		const char *kind = json_str(failure, "spec.endedBy.kind");

		if (strcmp(json_str(failure, "spec.class"), rows[i].class) != 0 ||
		    !says(failure, rows[i].verdict) ||
		    strcmp(json_str(failure, "spec.confidence"), rows[i].confidence) != 0 ||
		    strcmp(kind ? kind : "", rows[i].kind) != 0 ||
		    is_missing(failure, rows[i].missing) != (rows[i].missing != NULL))
			fail_msg("%s: %s", rows[i].what, cJSON_Print(failure));
		assert_string_equal(
			cJSON_GetStringValue(cJSON_GetObjectItem(
				json_get(failure, "metadata.labels"), "afterglow.dev/class")),
			rows[i].class);
	}
}

static void the_time_is_when_the_deletion_was_asked_for(void **state)
{
	_cleanup_json_ cJSON *node = json_of(NODE(CORDON));
	struct fate_facts facts = {
		.asked = ~0u, .node = node, .node_state = FATE_FOUND, .now_ns = T_NOW
	};
	_cleanup_json_ cJSON *failure = refined(EVICTED_BY_API, &facts);

	(void)state;
	assert_string_equal(json_str(failure, "spec.endedBy.time"), "2026-11-21T01:04:59.000Z");
	assert_string_equal(json_str(failure, "spec.endedBy.name"), "Node/n1");
}

/* The operator was away, so the present marks of the node are of a later time. */
static void marks_of_a_node_say_nothing_of_a_death_of_long_ago(void **state)
{
	_cleanup_json_ cJSON *node = json_of(NODE(CORDON));
	struct fate_facts facts = { .asked = ~0u,
				    .node = node,
				    .node_state = FATE_FOUND,
				    .now_ns = T_NOW + 3600 * NS_PER_SEC };
	struct ray_failure *failure = failure_of_yaml(EVICTED_BY_API);

	(void)state;
	assert_true(fate_refine(failure, &facts));
	assert_int_equal(failure->class, FAILURE_POD_DELETED);
	ray_failure_free(failure);
}

static void a_rayjob_that_finished_takes_its_pods_along(void **state)
{
	struct ray_failure *failure = failure_of_yaml(DELETED);
	_cleanup_json_ cJSON *job = json_of(
		"metadata: {name: train}\nstatus: {jobDeploymentStatus: Complete, rayClusterName: demo}\n");
	struct fate_facts facts = {
		.job = job, .job_state = FATE_FOUND, .cluster_state = FATE_ABSENT, .now_ns = T_NOW
	};
	struct owner owner;

	(void)state;
	assert_true(owner_parse("RayJob/train", &owner));
	ray_failure_set_owner(failure, &owner);
	facts.asked = FATE_NODE;
	assert_int_equal(fate_next(failure, &facts), FATE_JOB);
	facts.asked |= FATE_JOB;
	assert_int_equal(fate_next(failure, &facts), 0);
	assert_true(fate_refine(failure, &facts));
	assert_int_equal(failure->class, FAILURE_POD_DELETED);
	assert_int_equal(failure->ended_by.kind, ENDED_BY_KUBERAY);
	assert_string_equal(failure->ended_by.name, "RayJob/train");
	assert_non_null(strstr(failure->verdict, "the RayJob finished"));
	ray_failure_free(failure);
}

static void only_what_can_tell_is_asked(void **state)
{
	static const struct {
		const char *failure;
		enum fate_state cluster;
		unsigned sources;
	} asked[] = {
		{ DELETED, FATE_UNSEEN, FATE_NODE | FATE_POD_EVENTS | FATE_CLUSTER_EVENTS },
		{ DELETED, FATE_ABSENT, FATE_NODE | FATE_POD_EVENTS | FATE_CLUSTER_EVENTS },
		{ EVICTED_BY_API, FATE_UNSEEN, FATE_NODE | FATE_POD_EVENTS },
		{ BY_TAINT, FATE_UNSEEN, FATE_NODE | FATE_NODE_EVENTS },
		{ FAILURE("Evicted", "certain", BY("Kubelet")), FATE_UNSEEN, 0 },
		{ FAILURE("NodeShutdown", "certain", BY("Kubelet")), FATE_UNSEEN, FATE_NODE },
		{ FAILURE("Preempted", "certain", BY("Scheduler")), FATE_UNSEEN, FATE_POD_EVENTS },
		{ FAILURE("Killed", "likely", "signal: SIGKILL"), FATE_UNSEEN, FATE_POD_EVENTS },
		{ FAILURE("Terminated", "certain", "signal: SIGTERM"), FATE_UNSEEN, FATE_POD_EVENTS | FATE_NODE },
		{ FAILURE("KernelOOMContainer", "certain", "signal: SIGKILL"), FATE_UNSEEN, 0 },
		{ FAILURE("WorkerCrash", "likely", "containerLives: true"), FATE_UNSEEN, 0 },
		{ "spec: {class: Killed}", FATE_UNSEEN, 0 },
		{ "spec: {endedBy: {kind: Client}}", FATE_UNSEEN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct ray_failure *failure = failure_of_yaml(asked[i].failure);
		struct fate_facts facts = { .cluster_state = asked[i].cluster };
		unsigned next;

		while ((next = fate_next(failure, &facts)))
			facts.asked |= next;
		if (facts.asked != asked[i].sources)
			fail_msg("row %zu: %u", i, facts.asked);
		ray_failure_free(failure);
	}
}

static void the_paths_are_encoded(void **state)
{
	static const struct {
		enum fate_source source;
		const char *path;
	} paths[] = {
		{ FATE_NODE, "/api/v1/nodes/n%2F1" },
		{ FATE_POD_EVENTS, "/api/v1/namespaces/ml/events?limit=500&fieldSelector=involvedObject.uid%3Du%261" },
		{ FATE_CLUSTER_EVENTS, "/api/v1/namespaces/ml/events?limit=500&fieldSelector=involvedObject.kind%3DRayCluster%2CinvolvedObject.name%3Ddemo" },
		{ FATE_NODE_EVENTS, "/api/v1/namespaces/default/events?limit=500&fieldSelector=involvedObject.kind%3DNode%2CinvolvedObject.name%3Dn%2F1" },
		{ FATE_JOB, "/apis/ray.io/v1/namespaces/ml/rayjobs/train" },
	};
	struct ray_failure *failure = failure_of_yaml(
		"metadata: {namespace: ml}\nspec: {node: n/1, podUID: 'u&1', cluster: demo, owner: {kind: RayJob, name: train}}");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(1024);

		fate_path(failure, paths[i].source, &path);
		assert_string_equal(strbuf_str(&path), paths[i].path);
	}
	ray_failure_free(failure);
}

static void the_pods_status_names_who_ended_it_where_it_can(void **state)
{
	static const struct {
		const char *metadata, *status, *kind, *reason;
	} pods[] = {
		{ "", "reason: Evicted, message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. '", "Kubelet",
		  "The node was low on resource: memory" },
		{ "", "reason: Evicted, message: 'Usage of EmptyDir volume \"data\" exceeds the limit \"1Mi\". '", "Kubelet", "EmptyDir volume" },
		{ "", "reason: Preempting, message: Preempted in order to admit critical pod", "Kubelet", "critical pod" },
		{ "", "conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]", "Scheduler", "" },
		{ "", "conditions: [{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI}]", "EvictionAPI", "" },
		{ "", "conditions: [{type: DisruptionTarget, status: 'True', reason: DeletionByTaintManager}]", "TaintEviction", "" },
		{ ", deletionTimestamp: '2026-11-21T01:05:20Z', deletionGracePeriodSeconds: 30", "phase: Running", "Client", "" },
		{ "", "phase: Running", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		char yaml[1500];
		struct err err = { 0 };
		struct ray_failures failures = { 0 };

		snprintf(
			yaml, sizeof(yaml),
			"metadata: {name: w, namespace: ml, uid: u1, labels: {ray.io/cluster: demo}%s}\nspec: {nodeName: n1, containers: [{name: ray-worker}]}\n"
			"status: {%s, containerStatuses: [{name: ray-worker, restartCount: 0, state: {terminated: {exitCode: 143, "
			"containerID: 'containerd://a', finishedAt: '2026-11-21T01:05:00Z'}}}]}\n",
			pods[i].metadata, pods[i].status);
		_cleanup_json_ cJSON *pod = json_of(yaml);
		assert_int_equal(failures_from_pod(pod, T_NOW, &failures, &err), 0);
		const struct ended_by *by = &failures.list[0]->ended_by;
		if (strcmp(ended_by_kind_name(by->kind), pods[i].kind) != 0 ||
		    !strstr(by->reason, pods[i].reason))
			fail_msg("row %zu: %s, %s", i, ended_by_kind_name(by->kind), by->reason);
		ray_failures_release(&failures);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_trace_leads_to_who_ended_the_pod),
		cmocka_unit_test(the_time_is_when_the_deletion_was_asked_for),
		cmocka_unit_test(marks_of_a_node_say_nothing_of_a_death_of_long_ago),
		cmocka_unit_test(a_rayjob_that_finished_takes_its_pods_along),
		cmocka_unit_test(only_what_can_tell_is_asked),
		cmocka_unit_test(the_paths_are_encoded),
		cmocka_unit_test(the_pods_status_names_who_ended_it_where_it_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
