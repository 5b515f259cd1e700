/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reconciling one RayCluster, from a key in the work queue to its pods, with an API server
 * of the test.
 */
#include "operator/cluster_controller/reconcile.h"

#include "lib/units.h"
#include "operator/manager/testing.h"

#define PODS "/api/v1/namespaces/ml/pods"
#define SERVER_ERROR "{\"kind\":\"Status\",\"code\":500,\"reason\":\"InternalError\",\"message\":\"no\"}"
#define CLUSTER(more)                                                                                                    \
	"{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo\",\"uid\":\"u1\"," \
	"\"generation\":1,\"resourceVersion\":\"5\"" more "},\"spec\":{\"rayVersion\":\"2.46.0\",\"headGroupSpec\":{"              \
	"\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-head\",\"image\":\"ray\"}]}}},"                  \
	"\"workerGroupSpecs\":[{\"groupName\":\"g\",\"replicas\":2,\"minReplicas\":0,\"maxReplicas\":5,\"rayStartParams\":{},"         \
	"\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray-worker\",\"image\":\"ray\"}]}}}]}}"

struct fixture {
	struct bed bed;
	struct policy policy;
	struct policies *policies;
	struct workqueue queue;
	struct reconciler *reconciler;
	unsigned finished;
	char list[2048]; /* what the API server answers to a list of pods */
};

static bool may_write(void *arg, const char *namespace)
{
	(void)namespace;
	return ((struct fixture *)arg)->bed.allowed;
}

static void on_ready(void *arg)
{
	(void)arg;
}

static void on_finished(void *arg)
{
	((struct fixture *)arg)->finished++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	bed_init(&f->bed);
	assert_int_equal(policy_init(&f->policy, &(struct err){ 0 }), 0);
	workqueue_init(&f->queue);
	*state = f;
	return 0;
}

/* clusters: the RayClusters that the API server has. */
static void start(struct fixture *f, const char *clusters)
{
	fake_api_lists(&f->bed.api, "/rayclusters", clusters);
	bed_start(&f->bed);
	struct policies_options policies = { .base = f->bed.api.server.base,
					     .client = f->bed.client,
					     .watches = f->bed.watches,
					     .policy = &f->policy,
					     .may_write = bed_never,
					     .arg = f };
	assert_int_equal(policies_new(&policies, &f->policies, &(struct err){ 0 }), 0);
	struct reconciler_options options = {
		.executor = { .client = f->bed.client,
			      .watches = f->bed.watches,
			      .metrics = &f->bed.metrics,
			      .recorder = f->bed.recorder,
			      .may_write = may_write,
			      .arg = f },
		.writer = f->bed.writer,
		.poller = f->bed.poller,
		.queue = &f->queue,
		.policies = f->policies,
		.on_ready = on_ready,
		.on_finished = on_finished,
		.arg = f,
	};
	assert_int_equal(reconciler_new(&options, &f->reconciler, &(struct err){ 0 }), 0);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	policies_free(f->policies);
	bed_release(&f->bed); /* no answer comes any more */
	reconciler_free(f->reconciler);
	workqueue_release(&f->queue);
	policy_release(&f->policy);
	free(f);
	return 0;
}

static bool has_finished(void *arg)
{
	return ((struct fixture *)arg)->finished > 0;
}

/* Reconciles ml/demo once, to the end. */
static void reconcile(struct fixture *f)
{
	const char *key;

	assert_int_equal(workqueue_add(&f->queue, "ml/demo"), 0);
	key = workqueue_get(&f->queue, now_boottime_ns());
	assert_non_null(key);
	f->finished = 0;
	reconciler_start(f->reconciler, key);
	fake_api_turn(&f->bed.api, has_finished, f);
	assert_int_equal(f->finished, 1);
	assert_int_equal(reconciler_in_flight(f->reconciler), 0);
}

static double metric(struct fixture *f, const char *line)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	const char *at;

	metrics_render(&f->bed.metrics, &text);
	at = strstr(strbuf_str(&text), line);
	return at ? strtod(at + strlen(line), NULL) : 0;
}

static void a_new_cluster_gets_its_service_its_pods_and_its_status(void **state)
{
	struct fixture *f = *state;

	start(f, CLUSTER(""));
	reconcile(f);
	assert_int_equal(
		fake_api_count(&f->bed.api, "PATCH /api/v1/namespaces/ml/services/demo-head-svc"),
		1);
	assert_int_equal(fake_api_count(&f->bed.api, "POST " PODS), 3);
	assert_int_equal(
		fake_api_count(&f->bed.api,
			       "PATCH /apis/ray.io/v1/namespaces/ml/rayclusters/demo/status"),
		1);
	assert_true(
		metric(f,
		       "afterglow_operations_total{operation=\"create\",kind=\"Pod\",result=\"ok\"}") ==
		3);
	/* It will be reconciled again, because nothing shows that everything succeeded. */
	assert_true(workqueue_next_ns(&f->queue) > 0);
}

static void a_service_that_the_watch_does_not_show_is_looked_up_and_left_alone(void **state)
{
	struct fixture *f = *state;

	start(f, CLUSTER(""));
	fake_api_answers(
		&f->bed.api, "GET", "/services/demo-head-svc", 200,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo-head-svc\",\"uid\":\"x\"}}",
		0);
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH /api/v1/namespaces/ml/services/"), 0);
	assert_int_equal(fake_api_count(&f->bed.api, "POST " PODS), 3);
	reconcile(f);
	assert_int_equal(
		fake_api_count(&f->bed.api, "GET /api/v1/namespaces/ml/services/demo-head-svc"), 1);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH /api/v1/namespaces/ml/services/"), 0);
}

static void an_answer_is_known_before_the_watch_delivers_it(void **state)
{
	struct fixture *f = *state;

	start(f, CLUSTER(""));
	reconcile(f);
	reconcile(f);
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "POST " PODS), 3);
	assert_int_equal(fake_api_count(&f->bed.api, "DELETE"), 0);
}

static void a_cluster_that_is_gone_is_forgotten_without_a_write(void **state)
{
	struct fixture *f = *state;

	start(f, "");
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "POST"), 0);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH"), 0);
	assert_true(workqueue_next_ns(&f->queue) < 0);
}

static void a_cluster_that_is_being_deleted_gets_no_pods(void **state)
{
	struct fixture *f = *state;

	start(f,
	      CLUSTER(",\"deletionTimestamp\":\"2026-11-21T01:00:00Z\",\"finalizers\":[\"x/y\"]"));
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "POST"), 0);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH"), 0);
}

static void a_new_leader_lists_the_pods_before_it_creates_any(void **state)
{
	struct fixture *f = *state;

	start(f, CLUSTER(""));
	reconciler_begin(f->reconciler);
	reconcile(f);
	/* The list of the watch, and this one. */
	assert_int_equal(fake_api_count(&f->bed.api, "GET " PODS), 2);
	assert_true(strstr(strbuf_str(&f->bed.api.log), "POST " PODS) >
		    strstr(strbuf_str(&f->bed.api.log) + 1, "GET " PODS));
	/* Only names are requested: a hundred thousand whole pods would be megabytes. */
	assert_non_null(strstr(
		strbuf_str(&f->bed.api.accepts),
		"GET " PODS
		"?labelSelector=ray.io%2Fcluster%3Ddemo&limit=500 application/json;as=PartialObjectMetadataList;"));
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "GET " PODS), 2);
}

#define HEAD(more_labels)                                                                                                \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo-head-abcde\",\"uid\":\"p1\","    \
	"\"resourceVersion\":\"150\",\"labels\":{\"ray.io/cluster\":\"demo\",\"ray.io/node-type\":\"head\","                     \
	"\"ray.io/group\":\"headgroup\"" more_labels "},\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\","                   \
	"\"kind\":\"RayCluster\",\"name\":\"demo\",\"uid\":\"u1\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":"   \
	"\"ray-head\"}]}}"

/* The list of a new leader has a head pod that the watch has not shown yet. */
static void start_with_an_unseen_head(struct fixture *f, const char *head)
{
	snprintf(f->list, sizeof(f->list),
		 "{\"metadata\":{\"resourceVersion\":\"150\"},\"items\":[%s]}", head);
	fake_api_answers(&f->bed.api, "GET", PODS "?labelSelector=ray.io%2Fcluster", 200, f->list,
			 0);
	fake_api_answers(&f->bed.api, "GET", PODS "/demo-head-abcde", 200, head, 0);
	start(f, CLUSTER(""));
	reconciler_begin(f->reconciler);
}

static void a_pod_of_the_leader_before_is_asked_for_and_not_made_again(void **state)
{
	struct fixture *f = *state;

	start_with_an_unseen_head(f, HEAD(",\"ray.io/is-ray-node\":\"yes\""));
	reconcile(f);
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "GET " PODS "/demo-head-abcde"), 1);
	assert_int_equal(fake_api_count(&f->bed.api, "POST " PODS), 2);
	assert_null(strstr(strbuf_str(&f->bed.api.bodies),
			   "\"ray.io/node-type\":\"head\",\"ray.io/group\":\"g\""));
}

static void a_pod_that_lost_a_label_gets_it_back(void **state)
{
	struct fixture *f = *state;

	start_with_an_unseen_head(f, HEAD(""));
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH " PODS "/demo-head-abcde"), 1);
	assert_non_null(strstr(strbuf_str(&f->bed.api.bodies), "\"ray.io/is-ray-node\":\"yes\""));
}

static void who_may_not_write_puts_no_label_back(void **state)
{
	struct fixture *f = *state;

	start_with_an_unseen_head(f, HEAD(""));
	f->bed.allowed = false;
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH"), 0);
}

static void a_refused_pod_is_tried_again_later_and_the_status_says_why(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(
		&f->bed.api, "POST", PODS, 403,
		"{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"the quota\"}",
		0);
	start(f, CLUSTER(""));
	reconcile(f);
	assert_true(
		metric(f, "controller_runtime_reconcile_errors_total{controller=\"raycluster\"}") ==
		1);
	assert_true(workqueue_next_ns(&f->queue) > 0);
	assert_null(strstr(strbuf_str(&f->bed.api.bodies), "the quota"));
	reconcile(f);
	assert_non_null(strstr(strbuf_str(&f->bed.api.bodies), "the quota"));
}

static void a_creation_without_a_clear_answer_is_looked_up_before_the_next_plan(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->bed.api, "GET", PODS "/demo-", 404,
			 "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}", 0);
	fake_api_answers(&f->bed.api, "POST", PODS, 500, SERVER_ERROR, 1);
	start(f, CLUSTER(""));
	reconcile(f);
	unsigned before = fake_api_count(&f->bed.api, "POST " PODS);
	reconcile(f);
	assert_true(fake_api_count(&f->bed.api, "GET " PODS "/demo-") >= 1);
	assert_true(fake_api_count(&f->bed.api, "POST " PODS) > before);
	reconcile(f);
	assert_true(
		metric(f,
		       "afterglow_operations_total{operation=\"create\",kind=\"Pod\",result=\"ok\"}") ==
		3);
}

static void who_may_not_write_any_more_keeps_the_key_for_later(void **state)
{
	struct fixture *f = *state;

	start(f, CLUSTER(""));
	f->bed.allowed = false;
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "POST"), 0);
	assert_int_equal(fake_api_count(&f->bed.api, "PATCH"), 0);
	assert_int_equal(workqueue_next_ns(&f->queue), 0);
}

static bool has_told_of_the_secret(void *arg)
{
	return strstr(strbuf_str(&((struct fixture *)arg)->bed.api.bodies),
		      "\"reason\":\"FailedToCreateSecret\"") != NULL;
}

/* It may not be read, and the API server's refusal is all that shows it. */
static void a_secret_that_is_being_deleted_and_stays_is_named_in_an_event(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(
		&f->bed.api, "POST", "/secrets", 409,
		"{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\",\"message\":"
		"\"object is being deleted: secrets \\\"demo\\\" already exists\"}",
		0);
	start(f,
	      "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo\","
	      "\"uid\":\"u1\",\"generation\":1,\"resourceVersion\":\"5\",\"creationTimestamp\":\"2026-11-21T01:00:00Z\"},"
	      "\"spec\":{\"rayVersion\":\"2.55.0\",\"authOptions\":{\"mode\":\"token\"},\"headGroupSpec\":{"
	      "\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"h\",\"image\":\"ray\"}]}}}}}");
	reconcile(f);
	assert_int_equal(fake_api_count(&f->bed.api, "POST /api/v1/namespaces/ml/secrets"), 1);
	fake_api_turn(&f->bed.api, has_told_of_the_secret, f);
	assert_non_null(strstr(strbuf_str(&f->bed.api.bodies),
			       "Secret ml/demo is being deleted and is kept by its finalizers"));
	/* It is looked at again after a minute. */
	assert_in_range(workqueue_next_ns(&f->queue) - now_boottime_ns(), 30 * NS_PER_SEC,
			60 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_new_cluster_gets_its_service_its_pods_and_its_status, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_secret_that_is_being_deleted_and_stays_is_named_in_an_event, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_service_that_the_watch_does_not_show_is_looked_up_and_left_alone, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_answer_is_known_before_the_watch_delivers_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_cluster_that_is_gone_is_forgotten_without_a_write,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_cluster_that_is_being_deleted_gets_no_pods, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_new_leader_lists_the_pods_before_it_creates_any,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_pod_of_the_leader_before_is_asked_for_and_not_made_again, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_pod_that_lost_a_label_gets_it_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_may_not_write_puts_no_label_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_refused_pod_is_tried_again_later_and_the_status_says_why, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_creation_without_a_clear_answer_is_looked_up_before_the_next_plan, setup,
			teardown),
		cmocka_unit_test_setup_teardown(who_may_not_write_any_more_keeps_the_key_for_later,
						setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
