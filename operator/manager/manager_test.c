/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the whole operator in one loop, with an API server of the test: how the parts are
 * connected (parts.c), and who may act.
 */
#include "operator/manager/manager.h"

#include "lib/units.h"
#include "operator/kube/testing_api.h"

#define PODS "/api/v1/namespaces/ml/pods"
#define FAILURES "/apis/afterglow.dev/v1alpha1/namespaces/ml/rayfailures"
#define LEASES "/apis/coordination.k8s.io/v1/leases"
#define CLUSTER                                                                                                           \
	"{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo\",\"uid\":\"u1\","     \
	"\"generation\":1,\"resourceVersion\":\"5\"},\"spec\":{\"rayVersion\":\"2.46.0\",\"headGroupSpec\":{\"rayStartParams\":{},"     \
	"\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-head\",\"image\":\"ray\"}]}}},\"workerGroupSpecs\":[{\"groupName\":\"g\"," \
	"\"replicas\":1,\"minReplicas\":0,\"maxReplicas\":5,\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":"      \
	"\"ray-worker\",\"image\":\"ray\"}]}}}]}}"
#define DEAD_HEAD                                                                                                         \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo-head-x\",\"uid\":\"p1\",\"resourceVersion\":\"6\",\"labels\":{"               \
	"\"ray.io/cluster\":\"demo\",\"ray.io/is-ray-node\":\"yes\",\"ray.io/node-type\":\"head\",\"ray.io/group\":\"headgroup\"},"         \
	"\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"demo\",\"uid\":\"u1\",\"controller\":true}]}," \
	"\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"ray-head\"}]},\"status\":{\"phase\":\"Failed\","                 \
	"\"containerStatuses\":[{\"name\":\"ray-head\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":139,\"containerID\":"      \
	"\"containerd://a\",\"finishedAt\":\"2026-11-21T01:05:00Z\"}}}]}}"

struct fixture {
	struct fake_api api;
	struct client *client;
	struct metrics metrics;
	struct policy policy;
	struct manager *manager;
	bool leads, idle;
};

static bool is_leader(void *arg)
{
	return ((struct fixture *)arg)->leads;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_api_start(&f->api);
	f->client = fake_client(&f->api.server, NULL);
	f->leads = true;
	assert_int_equal(policy_init(&f->policy, &(struct err){ 0 }), 0);
	*state = f;
	return 0;
}

static void start(struct fixture *f, bool manage_clusters)
{
	struct manager_options options = {
		.base = f->api.server.base, .client = f->client, .own_namespace = "system",
		.config = { .namespace = "ml", .manage_clusters = manage_clusters, .webhook_address = "" },
		.policy = &f->policy, .metrics = &f->metrics, .is_leader = is_leader, .arg = f,
	};

	assert_int_equal(manager_new(&options, &f->manager, &(struct err){ 0 }), 0);
	manager_start(f->manager);
	if (f->leads)
		manager_begin(f->manager);
}

static void on_idle(void *arg)
{
	((struct fixture *)arg)->idle = true;
}

static bool is_idle(void *arg)
{
	return ((struct fixture *)arg)->idle;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->manager && !f->idle) {
		manager_stop(f->manager, on_idle, f);
		fake_api_turn(&f->api, is_idle, f);
	}
	manager_free(f->manager);
	client_free(f->client);
	metrics_release(&f->metrics);
	policy_release(&f->policy);
	fake_api_stop(&f->api);
	free(f);
	return 0;
}

static bool is_ready(void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);

	return manager_ready(((struct fixture *)arg)->manager, &text);
}

static bool has_two_pods(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, "POST " PODS) >= 2;
}

static void a_raycluster_that_is_there_gets_its_pods(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);

	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	start(f, true);
	fake_api_turn(&f->api, has_two_pods, f);
	fake_api_turn(&f->api, is_ready, f);
	assert_true(manager_ready(f->manager, &text));
	assert_non_null(strstr(strbuf_str(&text), "rayclusters: synced"));
	assert_non_null(strstr(strbuf_str(&text), "rayfailures: synced"));
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " PODS), 2);
}

static void a_standby_is_ready_and_writes_nothing_until_it_leads(void **state)
{
	struct fixture *f = *state;

	f->leads = false;
	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	fake_api_lists(&f->api, PODS "?", DEAD_HEAD);
	start(f, true);
	fake_api_turn(&f->api, is_ready, f);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST"), 0);
	assert_int_equal(fake_api_count(&f->api, "PATCH"), 0);
	assert_int_equal(fake_api_count(&f->api, "DELETE"), 0);
	f->leads = true;
	manager_begin(f->manager);
	fake_api_turn(&f->api, has_two_pods, f);
}

static bool has_deleted(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, "DELETE " PODS "/demo-head-x") > 0;
}

static void a_dead_pod_goes_when_its_failure_is_written(void **state)
{
	struct fixture *f = *state;
	const char *log;

	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	fake_api_lists(&f->api, PODS "?", DEAD_HEAD);
	start(f, true);
	fake_api_turn(&f->api, has_deleted, f);
	log = strbuf_str(&f->api.log);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 1);
	assert_true(strstr(log, "POST " FAILURES) < strstr(log, "DELETE " PODS "/demo-head-x"));
}

static bool has_failure(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, "POST " FAILURES) > 0;
}

static void pods_of_others_are_recorded_and_left_alone(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	fake_api_lists(&f->api, PODS "?", DEAD_HEAD);
	start(f, false);
	fake_api_turn(&f->api, has_failure, f);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " PODS), 0);
	assert_int_equal(fake_api_count(&f->api, "DELETE"), 0);
	assert_int_equal(fake_api_count(&f->api, "GET " LEASES), 0);
}

/* There is a Lease, and only its next renewal will show whether KubeRay runs. */
static void until_it_is_known_whether_kuberay_runs_its_clusters_are_left_to_it(void **state)
{
	struct fixture *f = *state;
	char now[TIME_TEXT_MAX], lease[512];

	snprintf(
		lease, sizeof(lease),
		"{\"metadata\":{\"namespace\":\"ray\",\"name\":\"ray-operator-leader\",\"resourceVersion\":\"3\"},\"spec\":{\"holderIdentity\":\"x\","
		"\"leaseDurationSeconds\":3600,\"renewTime\":\"%s\"}}",
		time_format(now_realtime_ns(), now));
	fake_api_lists(&f->api, "/leases", lease);
	/* Its holder is a pod that may write RayClusters. */
	fake_api_answers(&f->api, "GET", "/namespaces/ray/pods/x", 200,
			 "{\"spec\":{\"serviceAccountName\":\"kuberay\"}}", 0);
	fake_api_answers(&f->api, "POST", "/subjectaccessreviews", 201,
			 "{\"status\":{\"allowed\":true}}", 0);
	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	fake_api_lists(&f->api, PODS "?", DEAD_HEAD);
	start(f, true);
	fake_api_turn(&f->api, has_failure, f);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " PODS), 0);
	assert_int_equal(fake_api_count(&f->api, "DELETE"), 0);
}

static bool has_looked_twice(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, "GET " LEASES) >= 2;
}

/* Time passes only with answers: an API server that fails meanwhile proves nothing. */
static void a_lease_that_cannot_be_read_again_still_counts(void **state)
{
	static const char once[] =
		"{\"metadata\":{\"resourceVersion\":\"100\"},\"items\":[{\"metadata\":{\"namespace\":\"ray\",\"name\":\"ray-operator-leader\"},"
		"\"spec\":{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":1,\"renewTime\":\"2026-11-21T01:00:00.000000Z\"}}]}";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", "/leases", 200, once, 1);
	fake_api_answers(&f->api, "GET", "/leases", 500, "{\"kind\":\"Status\",\"code\":500}", 0);
	fake_api_answers(&f->api, "GET", "/namespaces/ray/pods/x", 200,
			 "{\"spec\":{\"serviceAccountName\":\"kuberay\"}}", 0);
	fake_api_answers(&f->api, "POST", "/subjectaccessreviews", 201,
			 "{\"status\":{\"allowed\":true}}", 0);
	start(f, true);
	fake_api_turn(&f->api, has_looked_twice, f); /* the second time after the Lease's second */
	fake_api_idle(&f->api);
	(void)manager_ready(f->manager, &text);
	assert_non_null(strstr(strbuf_str(&text), "managing RayClusters: no"));
}

/* A tenant writes a Lease in a namespace of its own. */
static void a_lease_of_a_tenant_stops_nothing(void **state)
{
	struct fixture *f = *state;
	char now[TIME_TEXT_MAX], lease[512];

	snprintf(
		lease, sizeof(lease),
		"{\"metadata\":{\"namespace\":\"tenant\",\"name\":\"ray-operator-leader\",\"resourceVersion\":\"3\"},\"spec\":{\"holderIdentity\":"
		"\"kuberay_1\",\"leaseDurationSeconds\":1,\"renewTime\":\"%s\"}}",
		time_format(now_realtime_ns(), now));
	fake_api_lists(&f->api, "/leases", lease);
	fake_api_answers(&f->api, "GET", "/namespaces/tenant/pods/kuberay", 404,
			 "{\"kind\":\"Status\",\"code\":404}", 0);
	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	start(f, true);
	fake_api_turn(&f->api, has_two_pods, f);
	assert_int_equal(fake_api_count(&f->api, "POST " PODS), 2);
}

static void who_is_asked_to_stop_says_when_no_write_is_under_way(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, "/rayclusters", CLUSTER);
	start(f, true);
	fake_api_turn(&f->api, has_two_pods, f);
	manager_stop(f->manager, on_idle, f);
	fake_api_turn(&f->api, is_idle, f);
	unsigned before = fake_api_count(&f->api, "");
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " PODS), 2);
	assert_true(fake_api_count(&f->api, "") >= before);
}

#define LOOKS "GET /api/v1/namespaces/ml/services/"

static bool looks_at_twelve(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, LOOKS) >= 12;
}

static void in_an_operator_of_one_namespace_no_place_is_kept_for_others(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf clusters = STRBUF_INIT(1 << 15);

	for (int i = 0; i < 20; i++)
		strbuf_addf(&clusters,
			    "%s{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":"
			    "{\"namespace\":\"ml\",\"name\":\"c%d\",\"uid\":\"u%d\","
			    "\"resourceVersion\":\"5\"},\"spec\":{\"headGroupSpec\":{}}}",
			    i ? "," : "", i, i);
	fake_api_lists(&f->api, "/rayclusters", strbuf_str(&clusters));
	fake_api_answers(&f->api, "GET", "/ml/services/", -1, NULL, 16);
	start(f, true);
	fake_api_turn(&f->api, looks_at_twelve, f);
	fake_api_idle(&f->api);
	f->idle = true; /* the answers never come, so teardown does not wait for them */
	assert_int_equal(fake_api_count(&f->api, LOOKS), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_raycluster_that_is_there_gets_its_pods, setup, teardown),
		cmocka_unit_test_setup_teardown(a_standby_is_ready_and_writes_nothing_until_it_leads, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dead_pod_goes_when_its_failure_is_written, setup, teardown),
		cmocka_unit_test_setup_teardown(pods_of_others_are_recorded_and_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(until_it_is_known_whether_kuberay_runs_its_clusters_are_left_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_lease_that_cannot_be_read_again_still_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_lease_of_a_tenant_stops_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(in_an_operator_of_one_namespace_no_place_is_kept_for_others, setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_asked_to_stop_says_when_no_write_is_under_way, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
