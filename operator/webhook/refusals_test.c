/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of groups of pods that the API server refuses with the sidecar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "operator/raycluster/testing.h"
#include "operator/webhook/refusals.h"

#define SECOND ((int64_t)1000000000)
#define GROUP "ml/demo/small"

static void try_times(struct remembered *r, unsigned n, int64_t from_s, int64_t step_s)
{
	for (unsigned i = 0; i < n; i++)
		remembered_note(r, GROUP, REFUSALS_GAP_NS, (from_s + step_s * i) * SECOND);
}

static void a_group_of_which_no_pod_appears_goes_without_the_sidecar(void **state)
{
	struct remembered r = { 0 };

	(void)state;
	try_times(&r, 3, 100, 2);
	assert_false(refusals_hold(&r, GROUP, 105 * SECOND));
	try_times(&r, 1, 106, 0);
	assert_true(refusals_hold(&r, GROUP, 107 * SECOND));
	assert_false(refusals_hold(&r, "ml/demo/large", 107 * SECOND));
	remembered_release(&r);
}

static void a_burst_of_creations_is_no_refusal(void **state)
{
	struct remembered r = { 0 };

	(void)state;
	for (int i = 0; i < 500; i++)
		remembered_note(&r, GROUP, REFUSALS_GAP_NS, 100 * SECOND + i * SECOND / 1000);
	assert_false(refusals_hold(&r, GROUP, 101 * SECOND));
	remembered_release(&r);
}

static void a_pod_that_appears_ends_it(void **state)
{
	struct remembered r = { 0 };

	(void)state;
	try_times(&r, 10, 100, 2);
	assert_true(refusals_hold(&r, GROUP, 119 * SECOND));
	remembered_forget(&r, GROUP);
	assert_false(refusals_hold(&r, GROUP, 119 * SECOND));
	try_times(&r, 1, 120, 0);
	assert_false(refusals_hold(&r, GROUP, 121 * SECOND));
	remembered_release(&r);
}

static void the_sidecar_is_tried_again_after_ten_minutes_and_once_only(void **state)
{
	struct remembered r = { 0 };

	(void)state;
	try_times(&r, 4, 100, 2);
	assert_true(refusals_hold(&r, GROUP, 700 * SECOND));
	assert_false(refusals_hold(&r, GROUP, 706 * SECOND));
	try_times(&r, 1, 706, 0);
	assert_true(refusals_hold(&r, GROUP, 707 * SECOND));
	remembered_release(&r);
}

static void tries_that_lie_far_apart_do_not_add_up(void **state)
{
	struct remembered r = { 0 };

	(void)state;
	try_times(&r, 6, 100, 1000);
	assert_false(refusals_hold(&r, GROUP, 5101 * SECOND));
	remembered_release(&r);
}

static void a_tenants_groups_leave_room_for_those_of_others_and_old_ones_go(void **state)
{
	struct remembered r = { 0 };
	char group[32];

	(void)state;
	for (int i = 0; i < REMEMBERED_MAX + 100; i++) {
		snprintf(group, sizeof(group), "ns/c/%d", i);
		remembered_note(&r, group, REFUSALS_GAP_NS, 100 * SECOND);
	}
	assert_int_equal(r.names.map.n, REMEMBERED_MAX / 2);
	try_times(&r, 4, 100, 2);
	assert_true(refusals_hold(&r, GROUP, 107 * SECOND));
	remembered_note(&r, "ns/c/new", REFUSALS_GAP_NS, 200 * SECOND + REFUSALS_GAP_NS);
	assert_int_equal(r.names.map.n, 1);
	remembered_release(&r);
}

#define CLUSTER(conditions) "spec: {workerGroupSpecs: [{groupName: small}]}\nstatus: {conditions: [" conditions "]}"
#define REFUSED(status, reason) "{type: Provisioned}, {type: ReplicaFailure, status: '" status "', reason: " reason "}"

static void only_the_condition_of_the_watched_cluster_is_evidence(void **state)
{
	static const struct {
		const char *cluster, *group;
		bool evident;
	} rows[] = {
		{ CLUSTER(REFUSED("True", "FailedCreateWorkerPod")), "small", true },
		{ CLUSTER(REFUSED("True", "FailedCreateHeadPod")), "headgroup", true },
		{ CLUSTER(REFUSED("True", "FailedCreateWorkerPod")), "invented", false },
		{ CLUSTER(REFUSED("True", "FailedCreateWorkerPod")), "", false },
		{ CLUSTER(REFUSED("True", "FailedDeleteWorkerPod")), "small", false },
		{ CLUSTER(REFUSED("False", "FailedCreateWorkerPod")), "small", false },
		{ CLUSTER(""), "small", false },
		{ "status: 7", "headgroup", false },
		{ "status: {conditions: {type: ReplicaFailure}}", "headgroup", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *cluster = json_of(rows[i].cluster);

		if (refusals_are_evident(cluster, rows[i].group) != rows[i].evident)
			fail_msg("row %zu", i);
	}
	assert_false(refusals_are_evident(NULL, "small"));
}

static void a_quota_that_asks_for_a_cpu_limit_of_the_sidecar_is_read_from_the_clusters_condition(void **state)
{
	static const struct {
		const char *message;
		bool wants;
	} rows[] = {
		{ "FailedCreateHeadPod failed quota: q: must specify limits.cpu for: afterglow",
		  true },
		{ "failed quota: q: must specify limits.cpu for: afterglow; limits.memory for: mine",
		  true },
		{ "failed quota: q: must specify limits.cpu for: ray-head", false },
		{ "exceeded quota: q, requested: limits.cpu=1, used: limits.cpu=0, limited: limits.cpu=500m",
		  false },
	};

	(void)state;
	assert_false(refusals_want_cpu_limit(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[512];

		snprintf(
			yaml, sizeof(yaml),
			"status: {conditions: [{type: ReplicaFailure, status: 'True', message: '%s'}]}",
			rows[i].message);
		_cleanup_json_ cJSON *cluster = json_of(yaml);
		if (refusals_want_cpu_limit(cluster) != rows[i].wants)
			fail_msg("%s", rows[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_quota_that_asks_for_a_cpu_limit_of_the_sidecar_is_read_from_the_clusters_condition),
		cmocka_unit_test(a_group_of_which_no_pod_appears_goes_without_the_sidecar),
		cmocka_unit_test(a_burst_of_creations_is_no_refusal),
		cmocka_unit_test(a_pod_that_appears_ends_it),
		cmocka_unit_test(the_sidecar_is_tried_again_after_ten_minutes_and_once_only),
		cmocka_unit_test(tries_that_lie_far_apart_do_not_add_up),
		cmocka_unit_test(only_the_condition_of_the_watched_cluster_is_evidence),
		cmocka_unit_test(a_tenants_groups_leave_room_for_those_of_others_and_old_ones_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
