/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how the ends of RayJobs' submitters become RayFailures. */
#include "operator/failure_controller/submitter_pods.h"

#include "operator/kube/testing_api.h"

#define JOBS "/apis/batch/v1/namespaces/ml/jobs"
#define PODS "/api/v1/namespaces/ml/pods?limit="
#define FAILURES "POST /apis/afterglow.dev/v1alpha1/namespaces/ml/rayfailures"
#define JOB(status) \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"train\",\"namespace\":\"ml\",\"uid\":\"j1\"," \
	"\"resourceVersion\":\"7\",\"labels\":{\"ray.io/originated-from-crd\":\"RayJob\",\"ray.io/originated-from-cr-name\":\"train\"}}," \
	"\"status\":{" status "}}"
#define POD_ENDED(address, state) \
	"{\"metadata\":{\"name\":\"train-x7k2p\",\"namespace\":\"ml\",\"uid\":\"p1\"},\"spec\":{\"containers\":[{\"name\":\"ray-job-submitter\"," \
	"\"resources\":{\"limits\":{\"memory\":\"1Gi\"}},\"env\":[{\"name\":\"RAY_DASHBOARD_ADDRESS\",\"value\":\"" address "\"}]}]}," \
	"\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"ray-job-submitter\",\"restartCount\":0,\"state\":{" state "}}]}}"
#define ENDED(code, more) \
	"\"terminated\":{\"exitCode\":" code more ",\"containerID\":\"containerd://c\",\"finishedAt\":\"2026-11-21T01:05:00Z\"}"
#define POD(name) POD_ENDED(name ".ml.svc:8265", ENDED("1", ""))
/* No label has room for it. */
#define LONG "a123456789a123456789a123456789a123456789a123456789a123456789a123456789"
#define SERVICE \
	"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"mine\",\"namespace\":\"ml\",\"uid\":\"s1\",\"resourceVersion\":\"7\"," \
	"\"labels\":{\"ray.io/cluster\":\"train-q8f6p\"}}}"

struct fixture {
	struct fake_api api;
	struct client *client;
	struct metrics metrics;
	struct watches *watches;
	struct failure_owners *owners;
	struct inquiries *inquiries;
	struct failure_writer *writer;
	struct submitter_pods pods;
	bool leads;
};

static bool leads(void *arg)
{
	return ((struct fixture *)arg)->leads;
}

static bool wanted(void *, const struct ray_failure *, const char **)
{
	return true;
}

static cJSON *reconsider(void *, const cJSON *)
{
	return NULL;
}

static void on_written(void *, const char *)
{
}

static const cJSON *find_cluster(void *, const char *)
{
	return NULL;
}

static bool cluster_is_gone(void *, const char *)
{
	return false;
}

static void on_state(void *)
{
}

static void on_change(void *arg, enum watch_kind kind, enum store_change, const cJSON *,
		      const cJSON *after)
{
	if (kind == WATCH_JOBS)
		submitter_pods_see(&((struct fixture *)arg)->pods, after);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_api_start(&f->api);
	f->client = fake_client(&f->api.server, NULL);
	f->leads = true;
	struct watches_options watches = { .base = f->api.server.base,
					   .client = f->client,
					   .namespace = "ml",
					   .on_change = on_change,
					   .on_state = on_state,
					   .arg = f };
	struct failure_owners_options owners = { .find_cluster = find_cluster };
	struct inquiries_options inquiries = { .client = f->client,
					       .find_cluster = find_cluster,
					       .cluster_is_gone = cluster_is_gone };
	assert_int_equal(watches_new(&watches, &f->watches, NULL), 0);
	assert_int_equal(failure_owners_new(&owners, &f->owners, NULL), 0);
	assert_int_equal(inquiries_new(&inquiries, &f->inquiries, NULL), 0);
	struct failure_writer_options writer = {
		.base = f->api.server.base, .client = f->client, .known = watches_informer(f->watches, WATCH_FAILURES),
		.pods = watches_informer(f->watches, WATCH_PODS), .metrics = &f->metrics, .owners = f->owners, .inquiries = f->inquiries,
		.is_leader = leads, .may_write = leads, .wanted = wanted, .reconsider = reconsider, .on_written = on_written, .arg = f,
	};
	assert_int_equal(failure_writer_new(&writer, &f->writer, NULL), 0);
	f->pods = (struct submitter_pods){ .client = f->client,
					   .watches = f->watches,
					   .writer = f->writer,
					   .may_write = leads,
					   .arg = f };
	assert_int_equal(submitter_pods_start(&f->pods, f->api.server.base, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	watches_free(f->watches);
	client_free(f->client);
	submitter_pods_stop(&f->pods);
	failure_writer_free(f->writer);
	inquiries_free(f->inquiries);
	failure_owners_free(f->owners);
	metrics_release(&f->metrics);
	fake_api_stop(&f->api);
	free(f);
	return 0;
}

static bool is_written(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, FAILURES) > 0;
}

static bool has_listed(void *arg)
{
	return strstr(strbuf_str(&((struct fixture *)arg)->api.accepts), PODS "20");
}

static bool is_behind(void *arg)
{
	return has_listed(arg) && ((struct fixture *)arg)->pods.behind;
}

static bool knows_jobs(void *arg)
{
	const struct fixture *f = arg;

	return informer_synced(watches_informer(f->watches, WATCH_JOBS)) &&
	       watches_store(f->watches, WATCH_JOBS)->entries.n;
}

static void the_end_of_a_failed_jobs_pod_is_written(struct fixture *f)
{
	fake_api_turn(&f->api, is_written, f);
	assert_non_null(strstr(strbuf_str(&f->api.accepts), "labelSelector=controller-uid%3Dj1"));
	assert_non_null(
		strstr(strbuf_str(&f->api.bodies), "\"name\":\"train-x7k2p-ray-job-submitter-"));
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\"cluster\":\"train-q8f6p\""));
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\"ownerText\":\"RayJob/train\""));
}

static void the_heads_service_names_the_cluster(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(&f->api, "/services", SERVICE);
	fake_api_lists(&f->api, PODS "20", POD("mine"));
	watches_start(f->watches);
	the_end_of_a_failed_jobs_pod_is_written(f);
}

static void without_the_service_its_name_names_the_cluster(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(&f->api, PODS "20", POD("train-q8f6p-head-svc"));
	watches_start(f->watches);
	the_end_of_a_failed_jobs_pod_is_written(f);
}

static void a_pod_that_names_no_cluster_is_left_alone(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(&f->api, PODS "20",
		       POD("elsewhere") "," POD("-head-svc") "," POD("a b-head-svc") "," POD(
			       LONG
			       "-head-svc") "," POD("") "," POD_ENDED("", ENDED("1", "")) ",{},7");
	watches_start(f->watches);
	fake_api_turn(&f->api, has_listed, f);
	fake_api_idle(&f->api);
	assert_false(is_written(f));
}

static void an_end_has_the_kubelets_words_the_limit_and_who_sets_it(void **state)
{
	struct fixture *f = *state;
	const char *body;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(
		&f->api, PODS "20",
		POD_ENDED("train-q8f6p-head-svc:1", ENDED("137", ",\"reason\":\"OOMKilled\"")));
	watches_start(f->watches);
	the_end_of_a_failed_jobs_pod_is_written(f);
	body = strbuf_str(&f->api.bodies);
	assert_non_null(strstr(body, "\"class\":\"KernelOOMContainer\""));
	assert_non_null(strstr(
		body,
		"most likely ran out of memory (the kubelet says OOMKilled; the limit is 1Gi)"));
	assert_non_null(strstr(body, "in spec.submitterPodTemplate of the RayJob"));
	/* It is no Ray node, and has no sidecar on purpose. */
	assert_null(strstr(body, "runsRay"));
	assert_non_null(strstr(body, "\"needs\":\"the container's own logs\""));
}

static void an_image_that_cannot_be_pulled_is_found_although_the_job_does_not_change(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"active\":1,\"ready\":0"));
	fake_api_lists(&f->api, PODS "20",
		       POD_ENDED("train-q8f6p-head-svc:1",
				 "\"waiting\":{\"reason\":\"ImagePullBackOff\"}"));
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_jobs, f);
	event_active(f->pods.tick, 0, 0);
	the_end_of_a_failed_jobs_pod_is_written(f);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\"class\":\"StartFailure\""));
}

/* The others are not even read: a tenant may have thousands. */
static void only_jobs_with_a_pod_that_is_not_ready_are_looked_at_from_time_to_time(void **state)
{
	static const struct {
		const char *job;
		size_t n;
	} rows[] = { { JOB("\"active\":1"), 1 },
		     { JOB("\"active\":1,\"ready\":1"), 0 },
		     { JOB("\"active\":1"), 1 },
		     { JOB(""), 0 },
		     { JOB("\"active\":1"), 1 } };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *job = cJSON_Parse(rows[i].job);

		submitter_pods_see(&f->pods, job);
		assert_int_equal(f->pods.waits.n, rows[i].n);
	}
	/* It is gone. */
	watches_start(f->watches);
	fake_api_idle(&f->api);
	event_active(f->pods.tick, 0, 0);
	fake_api_idle(&f->api);
	assert_int_equal(f->pods.waits.n, 0);
	assert_false(has_listed(f));
}

/* They do not come by the store, which shortens pods with very many containers. */
static void of_a_submitter_with_very_many_containers_few_are_looked_at(void **state)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse(POD("train-q8f6p-head-svc"));
	cJSON *containers = json_get(pod, "spec.containers"),
	      *statuses = json_get(pod, "status.containerStatuses");
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++) {
		cJSON *status = cJSON_Duplicate(statuses->child, true);
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		json_set_str(status, "name", name);
		json_set_str(json_get(status, "state.terminated"), "containerID", name);
		json_append(statuses, status);
		json_append(containers, json_named_new(name));
	}
	_cleanup_free_ char *text = cJSON_PrintUnformatted(pod);
	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(&f->api, PODS "20", text);
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_jobs, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_turn(&f->api, is_written, f);
	assert_in_range(fake_api_count(&f->api, FAILURES) + failure_writer_n_pending(f->writer), 1,
			32);
}

static void a_job_that_no_rayjob_made_has_no_submitter(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(
		&f->api, JOBS,
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ml\",\"uid\":\"j1\"},\"status\":{\"failed\":1}},"
		"{\"metadata\":{\"name\":\"b\",\"namespace\":\"ml\",\"uid\":\"j2\",\"labels\":{\"ray.io/originated-from-crd\":"
		"\"RayJob\",\"ray.io/originated-from-cr-name\":\"Not a name\"}},\"status\":{\"failed\":1}}");
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_jobs, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_idle(&f->api);
	assert_false(has_listed(f));
}

static void a_list_that_fails_is_asked_for_again(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_answers(&f->api, "GET", PODS "20", 500, "{\"kind\":\"Status\",\"code\":500}", 1);
	fake_api_lists(&f->api, PODS "20", POD("train-q8f6p-head-svc"));
	watches_start(f->watches);
	fake_api_turn(&f->api, is_behind, f);
	event_active(f->pods.tick, 0, 0);
	the_end_of_a_failed_jobs_pod_is_written(f);
	assert_false(f->pods.behind);
}

static void a_list_that_nobody_can_read_is_not_asked_for_again(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_answers(&f->api, "GET", PODS "20", 200, "{\"items\":[", 0);
	watches_start(f->watches);
	fake_api_turn(&f->api, has_listed, f);
	fake_api_idle(&f->api);
	assert_false(f->pods.behind);
}

static void a_replica_asks_when_it_may_write(void **state)
{
	struct fixture *f = *state;

	f->leads = false;
	fake_api_lists(&f->api, JOBS, JOB("\"failed\":1"));
	fake_api_lists(&f->api, PODS "20", POD("train-q8f6p-head-svc"));
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_jobs, f);
	fake_api_idle(&f->api);
	assert_false(has_listed(f));
	f->leads = true;
	event_active(f->pods.tick, 0, 0);
	the_end_of_a_failed_jobs_pod_is_written(f);
}

static void pods_of_a_job_that_goes_well_are_not_asked_for(void **state)
{
	struct fixture *f = *state;

	fake_api_lists(&f->api, JOBS, JOB("\"active\":1,\"ready\":1"));
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_jobs, f);
	fake_api_idle(&f->api);
	assert_false(has_listed(f));
}

static void add_failed_job(struct strbuf *jobs, const char *namespace, int i)
{
	strbuf_addf(
		jobs,
		"%s{\"metadata\":{\"name\":\"j%d\",\"namespace\":\"%s\",\"uid\":\"j%d\",\"labels\":{"
		"\"ray.io/originated-from-crd\":\"RayJob\","
		"\"ray.io/originated-from-cr-name\":\"train\"}},\"status\":{\"failed\":1}}",
		jobs->len ? "," : "", i, namespace, i);
}

/* Then the tick looks at all failed Jobs. */
static bool knows_all(void *arg)
{
	struct fixture *f = arg;

	f->pods.behind = true;
	return knows_jobs(f) && watches_synced(f->watches);
}

static bool others_are_listed(void *arg)
{
	struct fixture *f = arg;

	return fake_api_count(&f->api, "GET /api/v1/namespaces/other/pods") > 0;
}

/* All requests at once would hold up the operator, and their answers fill its memory. */
static void a_tenant_with_many_jobs_has_one_list_under_way(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf jobs = STRBUF_INIT(1 << 15);

	for (int i = 0; i <= 60; i++)
		add_failed_job(&jobs, i < 60 ? "ml" : "other", i);
	fake_api_lists(&f->api, JOBS, strbuf_str(&jobs));
	fake_api_answers(&f->api, "GET", "/pods?limit=20", -1, "", 0);
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_all, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_turn(&f->api, others_are_listed, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "GET /api/v1/namespaces/other/pods"), 1);
	/* The other request is the watch's own list. */
	assert_int_equal(fake_api_count(&f->api, "GET /api/v1/namespaces/ml/pods"), 2);
}

static bool all_are_listed(void *arg)
{
	const struct fixture *f = arg;
	const char *asked = strbuf_str(&f->api.accepts);

	return strstr(asked, "-uid%3Dj0 ") && strstr(asked, "-uid%3Dj1 ") &&
	       strstr(asked, "-uid%3Dj2 ") && f->pods.due.n + f->pods.turns.items.n == 0;
}

static void jobs_that_wait_for_their_turn_get_it(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf jobs = STRBUF_INIT(1 << 15);

	for (int i = 0; i < 3; i++)
		add_failed_job(&jobs, "ml", i);
	fake_api_lists(&f->api, JOBS, strbuf_str(&jobs));
	watches_start(f->watches);
	fake_api_turn(&f->api, knows_all, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_turn(&f->api, all_are_listed, f);
}

static bool is_ready(void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
	const struct fixture *f = arg;

	return watches_ready(f->watches, &text) && strstr(strbuf_str(&text), "jobs: none: ");
}

static void without_the_right_to_jobs_the_operator_is_ready(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", JOBS, 403, "{\"kind\":\"Status\",\"code\":403}", 0);
	watches_start(f->watches);
	fake_api_turn(&f->api, is_ready, f);
	event_active(f->pods.tick, 0, 0);
	fake_api_idle(&f->api);
	assert_true(watches_synced(f->watches));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_heads_service_names_the_cluster, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_service_its_name_names_the_cluster, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_that_names_no_cluster_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_has_the_kubelets_words_the_limit_and_who_sets_it, setup, teardown),
		cmocka_unit_test_setup_teardown(an_image_that_cannot_be_pulled_is_found_although_the_job_does_not_change, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_submitter_with_very_many_containers_few_are_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(a_job_that_no_rayjob_made_has_no_submitter, setup, teardown),
		cmocka_unit_test_setup_teardown(only_jobs_with_a_pod_that_is_not_ready_are_looked_at_from_time_to_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_that_fails_is_asked_for_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_list_that_nobody_can_read_is_not_asked_for_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_replica_asks_when_it_may_write, setup, teardown),
		cmocka_unit_test_setup_teardown(pods_of_a_job_that_goes_well_are_not_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(a_tenant_with_many_jobs_has_one_list_under_way, setup,
						teardown),
		cmocka_unit_test_setup_teardown(jobs_that_wait_for_their_turn_get_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_the_right_to_jobs_the_operator_is_ready, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
