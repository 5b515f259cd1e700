/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a Node's taints and conditions say about its end. */
#include "operator/fate/node_mark.h"

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

#define TAINTS(list) "metadata: {name: n1}\nspec: {taints: [" list "]}\n"
#define CONDITIONS(list) "metadata: {name: n1}\nstatus: {conditions: [" list "]}\n"
#define CORDON "{key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: '2026-11-21T01:00:00Z'}"

static void each_project_marks_its_nodes_in_its_own_way(void **state)
{
	static const struct {
		const char *node, *kind; /* kind NULL: no mark */
		bool reclaimed;
		const char *evidence;
	} rows[] = {
		{ TAINTS(""), NULL, false, NULL },
		{ TAINTS(CORDON), "Drain", false, "taint node.kubernetes.io/unschedulable:NoSchedule" },
		{ TAINTS("{key: ToBeDeletedByClusterAutoscaler, value: '1795224540', effect: NoSchedule}"), "ClusterAutoscaler", true,
		  "taint ToBeDeletedByClusterAutoscaler=1795224540:NoSchedule" },
		/* A node that is only a candidate may stay. */
		{ TAINTS("{key: DeletionCandidateOfClusterAutoscaler, value: '1', effect: PreferNoSchedule}"), NULL, false, NULL },
		{ TAINTS("{key: karpenter.sh/disrupted, effect: NoSchedule}"), "Karpenter", true, "karpenter.sh/disrupted:NoSchedule" },
		{ TAINTS("{key: karpenter.sh/disruption, value: disrupting, effect: NoSchedule}"), "Karpenter", true, "disruption=disrupting" },
		{ TAINTS("{key: aws-node-termination-handler/spot-itn, value: ev-1, effect: NoSchedule}"), "AWSNodeTermination", true, "spot-itn" },
		{ TAINTS("{key: aws-node-termination-handler/scheduled-maintenance, effect: NoSchedule}"), "AWSNodeTermination", true, "maint" },
		{ TAINTS("{key: aws-node-termination-handler/asg-lifecycle-termination, effect: NoExecute}"), "AWSNodeTermination", true, "asg" },
		{ TAINTS("{key: aws-node-termination-handler/rebalance-recommendation, effect: NoSchedule}"), "AWSNodeTermination", false, "reb" },
		{ TAINTS("{key: cloud.google.com/impending-node-termination, effect: NoSchedule}"), "GKENodeTermination", true, "impending" },
		{ TAINTS("{key: remediator.kubernetes.azure.com/unschedulable, effect: NoSchedule}"), "AKSScheduledEvent", false, "remediator" },
		{ TAINTS("{key: cloudprovider.azure.microsoft.com/draining, value: spot-eviction, effect: NoSchedule}"), "AKSScheduledEvent", true,
		  "draining=spot-eviction" },
		{ TAINTS("{key: node.cloudprovider.kubernetes.io/shutdown, effect: NoSchedule}"), "CloudProvider", true, "shutdown" },
		{ TAINTS("{key: node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}"), "NodeShutdown", true, "out-of-service" },
		/* A node that is reclaimed is also cordoned. */
		{ TAINTS(CORDON ", {key: karpenter.sh/disrupted, effect: NoSchedule}"), "Karpenter", true, "karpenter" },
		{ CONDITIONS("{type: VMEventScheduled, status: 'True', message: 'Preempt Scheduled: Mon, 02 Mar 2026 19:01:45 GMT'}"),
		  "AKSScheduledEvent", true, "condition VMEventScheduled True: Preempt Scheduled" },
		{ CONDITIONS("{type: VMEventScheduled, status: 'True', message: 'Freeze Scheduled: Mon, 02 Mar 2026 19:01:45 GMT'}"), NULL, false, NULL },
		{ CONDITIONS("{type: VMEventScheduled, status: 'False', message: VM has no scheduled event}"), NULL, false, NULL },
		{ CONDITIONS("{type: PreemptScheduled, status: 'True'}"), "AKSScheduledEvent", true, "PreemptScheduled True" },
		{ CONDITIONS("{type: Ready, status: 'False', reason: KubeletNotReady, message: node is shutting down}"), "NodeShutdown", true,
		  "condition Ready False: node is shutting down" },
		{ CONDITIONS("{type: Ready, status: 'True', message: node is shutting down}"), NULL, false, NULL },
		/* The node has a problem, but stays. */
		{ CONDITIONS("{type: MemoryPressure, status: 'True'}, {type: Ready, status: Unknown}"), NULL, false, NULL },
		/* Invalid values. */
		{ "spec: {taints: 7}\nstatus: {conditions: {}}", NULL, false, NULL },
		{ "spec: {taints: [7, {}, {key: 5}, {key: karpenter.sh/disrupted}]}", "Karpenter", true, "taint karpenter.sh/disrupted:?" },
		{ "status: {conditions: [{type: PreemptScheduled}]}", NULL, false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *node = json_of(rows[i].node);
		struct node_mark mark;
		bool found = node_mark_find(node, &mark);

		if (found != (rows[i].kind != NULL))
			fail_msg("row %zu: %s", i, found ? mark.evidence : "no mark");
		if (found && (strcmp(ended_by_kind_name(mark.by.kind), rows[i].kind) != 0 ||
			      mark.reclaimed != rows[i].reclaimed ||
			      !strstr(mark.evidence, rows[i].evidence)))
			fail_msg("row %zu: %s, %d, %s", i, ended_by_kind_name(mark.by.kind),
				 mark.reclaimed, mark.evidence);
	}
}

static void a_mark_says_when_it_was_made_where_it_has_a_time(void **state)
{
	static const struct {
		const char *node;
		int64_t at_s;
	} rows[] = {
		{ TAINTS(CORDON), 1795222800 },
		{ TAINTS("{key: ToBeDeletedByClusterAutoscaler, value: '1795224540', effect: NoSchedule}"), 1795224540 },
		{ TAINTS("{key: ToBeDeletedByClusterAutoscaler, value: soon, effect: NoSchedule}"), 0 },
		{ TAINTS("{key: ToBeDeletedByClusterAutoscaler, value: '99999999999999999', effect: NoSchedule}"), 0 },
		{ TAINTS("{key: karpenter.sh/disrupted, timeAdded: yesterday}"), 0 },
		{ CONDITIONS("{type: PreemptScheduled, status: 'True', lastTransitionTime: '2026-11-21T01:00:00Z'}"), 1795222800 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *node = json_of(rows[i].node);
		struct node_mark mark;

		assert_true(node_mark_find(node, &mark));
		if (mark.by.at_ns != rows[i].at_s * NS_PER_SEC)
			fail_msg("row %zu: %lld", i, (long long)mark.by.at_ns);
		assert_string_equal(mark.by.name, "Node/n1");
	}
}

static void taints_that_end_pods_are_distinguished_from_those_that_keep_new_pods_away(void **state)
{
	static const struct {
		const char *node;
		bool found, lost;
	} rows[] = {
		{ TAINTS("{key: node.kubernetes.io/unreachable, effect: NoSchedule}"), false, false },
		{ TAINTS("{key: node.kubernetes.io/unreachable, effect: NoSchedule}, {key: node.kubernetes.io/unreachable, effect: NoExecute}"), true, true },
		{ TAINTS("{key: node.kubernetes.io/not-ready, effect: NoExecute}"), true, true },
		{ TAINTS("{key: example.com/ours, value: 'yes', effect: NoExecute}"), true, false },
		{ TAINTS("{effect: NoExecute}, 7"), false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *node = json_of(rows[i].node);
		bool lost = false;
		char text[300];

		if (node_mark_no_execute(node, text, &lost) != rows[i].found ||
		    lost != rows[i].lost)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_project_marks_its_nodes_in_its_own_way),
		cmocka_unit_test(a_mark_says_when_it_was_made_where_it_has_a_time),
		cmocka_unit_test(taints_that_end_pods_are_distinguished_from_those_that_keep_new_pods_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
