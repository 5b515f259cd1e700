/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the facts that planning gets about one cluster: what the watches have about it, and
 * nothing about others.
 */
#include "operator/cluster_controller/gather_state.h"

#include "lib/units.h"
#include "operator/manager/testing.h"

#define CLUSTER(name, uid)                                                                                          \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"5\"},\"spec\":{" \
	"\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-head\",\"image\":\"ray\"}]}}}," \
	"\"workerGroupSpecs\":[{\"groupName\":\"g\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-worker\"," \
	"\"image\":\"ray\"}]}}}]}}"
#define OWNED(uid) \
	",\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"demo\",\"uid\":\"" uid "\",\"controller\":true}]"
#define POD(name, cluster, owner) \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"6\",\"labels\":{" cluster \
	"}" owner "},\"spec\":{\"containers\":[{\"name\":\"ray-worker\"}]}}"
#define OF(cluster) "\"ray.io/cluster\":\"" cluster "\""
#define SERVICE(name) \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"7\",\"labels\":{" OF("demo") "}}}"
#define FAILURE(name, group, class, created, more)                                                                     \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"8\",\"creationTimestamp\":\"" \
	created "\",\"labels\":{" OF("demo") ",\"ray.io/group\":\"" group "\",\"afterglow.dev/class\":\"" class "\"}" more "}}"
#define LONG_AGO "2020-01-01T00:00:00Z"

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	bed_init(bed);
	fake_api_lists(&bed->api, "/rayclusters", CLUSTER("demo", "u1") "," CLUSTER("other", "u2"));
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	bed_release(*state);
	free(*state);
	return 0;
}

static void gather(struct bed *bed, struct cluster_state *o, struct plan_input *in)
{
	const cJSON *cluster = store_get(watches_store(bed->watches, WATCH_CLUSTERS), "ml/demo");

	assert_non_null(cluster);
	assert_int_equal(gather_state(bed->watches, bed->writer, bed->poller, "ml/demo", cluster, o,
				      in, &(struct err){ 0 }),
			 0);
}

static bool has_pod(const struct plan_input *in, const char *name)
{
	for (size_t i = 0; i < in->n_pods; i++)
		if (strcmp(json_str(in->pods[i], "metadata.name"), name) == 0)
			return true;
	return false;
}

static void a_cluster_has_the_pods_that_it_controls_and_those_with_its_label(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;

	fake_api_lists(&bed->api, "/pods",
		       POD("labelled", OF("demo"), "") "," POD("owned", "", OWNED("u1")) "," POD(
			       "others", OF("other"), ""));
	fake_api_lists(&bed->api, "/services",
		       SERVICE("demo-head-svc") "," SERVICE("demo-headless"));
	bed_start(bed);
	gather(bed, &o, &in);
	assert_int_equal(in.n_pods, 2);
	assert_int_equal(in.n_labelled, 2);
	assert_true(has_pod(&in, "labelled"));
	assert_true(has_pod(&in, "owned"));
	assert_string_equal(json_str(in.service, "metadata.name"), "demo-head-svc");
	assert_false(in.evidence_pending[0] || in.evidence_pending[1]);
}

static void a_cluster_of_which_nothing_is_there_has_nothing(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;

	bed_start(bed);
	gather(bed, &o, &in);
	assert_int_equal(in.n_pods, 0);
	assert_int_equal(in.n_crashes, 0);
	assert_null(in.service);
	assert_null(in.headless);
	assert_null(in.growing);
	assert_false(in.growing_unheard);
}

/* As RayFailures have it: without a fraction. */
static void time_of_now(char now[static TIME_TEXT_MAX])
{
	time_format(now_realtime_ns(), now);
	now[19] = 'Z';
	now[20] = '\0';
}

static void crashes_are_the_recent_deaths_that_happened_by_themselves(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;
	char now[TIME_TEXT_MAX], items[8192];

	time_of_now(now);
	snprintf(
		items, sizeof(items),
		FAILURE("w1-ray-worker-aaaa", "g", "ApplicationError", "%s", "") "," FAILURE("w2-ray-worker-bbbb", "g", "Evicted", "%s", "") "," FAILURE(
			"w3-ray-worker-cccc", "g", "ApplicationError", "%s",
			",\"annotations\":{\"afterglow.dev/pod-deleted\":\"true\"}") "," FAILURE("w4-other-dddd",
												 "g",
												 "ApplicationError",
												 "%s",
												 "") "," FAILURE("w5-ray-worker-eeee",
														 "g",
														 "ApplicationError",
														 LONG_AGO,
														 "") "," FAILURE("w6-ray-worker-ffff",
																 "gone",
																 "ApplicationError",
																 "%s",
																 "") "," FAILURE("h1-ray-head-gggg",
																		 "headgroup",
																		 "KernelOOMContainer",
																		 "%s",
																		 ""),
		now, now, now, now, now, now);
	fake_api_lists(&bed->api, "/rayfailures", items);
	bed_start(bed);
	gather(bed, &o, &in);
	assert_int_equal(in.n_crashes, 2);
	assert_string_equal(in.crashes[0].failure, "h1-ray-head-gggg");
	assert_string_equal(in.crashes[0].group, "headgroup");
	assert_string_equal(in.crashes[1].failure, "w1-ray-worker-aaaa");
}

/* A tenant who may write RayFailures can make thousands of them, each with many annotations. */
static void failures_are_looked_at_one_by_one_and_of_each_only_what_is_read_is_kept(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;
	char now[TIME_TEXT_MAX], items[2048];

	time_of_now(now);
	snprintf(
		items, sizeof(items),
		FAILURE("w1-ray-worker-aaaa", "g", "KernelOOMContainer", "%s", ",\"annotations\":{\"a\":\"\",\"b\":\"\",\"afterglow.dev/facts\":\"runsRay: yes\"}") "," FAILURE(
			"w2-ray-worker-bbbb", "g", "NoSuchClass", "%s", ""),
		now, now);
	fake_api_lists(&bed->api, "/rayfailures", items);
	bed_start(bed);
	gather(bed, &o, &in);
	const struct store *failures = watches_store(bed->watches, WATCH_FAILURES);
	const cJSON *kept = store_peek(failures, "ml/w1-ray-worker-aaaa");

	assert_null(failures->views);
	assert_int_equal(cJSON_GetArraySize(json_get(kept, "metadata.annotations")), 1);
	assert_int_equal(in.n_crashes, 2);
	assert_string_equal(in.crashes[1].failure, "w1-ray-worker-aaaa");
	assert_string_equal(in.crashes[1].class, "KernelOOMContainer");
	assert_null(in.crashes[0].class);
}

/*
 * Nothing is planned for such a cluster. Its groups may be thousands, and each might have hundreds
 * of crashes.
 */
static void of_a_cluster_that_is_refused_no_crashes_are_gathered(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;
	char now[TIME_TEXT_MAX], items[1024];

	time_of_now(now);
	snprintf(items, sizeof(items),
		 FAILURE("w1-ray-worker-aaaa", "g", "ApplicationError", "%s", ""), now);
	fake_api_lists(&bed->api, "/rayfailures", items);
	bed_start(bed);
	const cJSON *read = store_get(watches_store(bed->watches, WATCH_CLUSTERS), "ml/demo");
	_cleanup_json_ cJSON *cluster = cJSON_Duplicate(read, true);
	cJSON *groups = json_get(cluster, "spec.workerGroupSpecs");
	json_append(groups, cJSON_Duplicate(groups->child, true));
	assert_int_equal(gather_state(bed->watches, bed->writer, bed->poller, "ml/demo", cluster,
				      &o, &in, &(struct err){ 0 }), 0);
	assert_int_equal(in.n_crashes, 0);
}

static void a_pod_whose_failure_waits_to_be_written_is_kept(void **state)
{
	static const char dead[] =
		"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"uid\":\"u-w\",\"resourceVersion\":\"9\",\"labels\":{" OF(
			"demo") "}},"
				"\"spec\":{\"containers\":[{\"name\":\"ray-worker\"}]},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":"
				"\"ray-worker\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":1,\"containerID\":\"containerd://a\","
				"\"finishedAt\":\"2026-11-21T01:05:00Z\"}}}]}}";
	_cleanup_(cluster_state_release) struct cluster_state o = { 0 };
	struct plan_input in = { 0 };
	struct bed *bed = *state;

	fake_api_lists(&bed->api, "/pods", dead);
	bed_start(bed);
	failure_writer_see(bed->writer, store_get(watches_store(bed->watches, WATCH_PODS), "ml/w"),
			   false);
	gather(bed, &o, &in);
	assert_int_equal(in.n_pods, 1);
	assert_true(in.evidence_pending[0]);
}

static void each_plan_has_names_and_a_token_of_its_own(void **state)
{
	_cleanup_(cluster_state_release) struct cluster_state first = { 0 }, second = { 0 };
	struct plan_input in = { 0 }, again = { 0 };
	struct bed *bed = *state;

	bed_start(bed);
	gather(bed, &first, &in);
	gather(bed, &second, &again);
	assert_int_equal(strlen(in.name_seed), OBSERVE_SEED_MAX - 2);
	assert_int_equal(strlen(in.token), 44);
	assert_string_not_equal(in.name_seed, again.name_seed);
	assert_string_not_equal(in.token, again.token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_cluster_has_the_pods_that_it_controls_and_those_with_its_label, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_cluster_of_which_nothing_is_there_has_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			crashes_are_the_recent_deaths_that_happened_by_themselves, setup, teardown),
		cmocka_unit_test_setup_teardown(
			failures_are_looked_at_one_by_one_and_of_each_only_what_is_read_is_kept,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_a_cluster_that_is_refused_no_crashes_are_gathered, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_whose_failure_waits_to_be_written_is_kept,
						setup, teardown),
		cmocka_unit_test_setup_teardown(each_plan_has_names_and_a_token_of_its_own, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
