/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of writing what ended pods needed, with an API server of the test. */
#include "operator/failure_controller/memory_keeper.h"

#include "operator/kube/testing_api.h"
#include "operator/testing.h"

#define MAP "/api/v1/namespaces/ml/configmaps/afterglow-memory"
#define MAPS "/api/v1/namespaces/ml/configmaps"
#define STATUS(code) "{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"x\"}"

#define POD(state)                                                                                                              \
	"{metadata: {namespace: ml, name: w, labels: {ray.io/cluster: demo, ray.io/group: g}}, status: {containerStatuses: [{name: afterglow, " \
	"state: " state "}]}}"
#define RUNS POD("{running: {}}")
#define ENDED POD("{terminated: {message: '#afterglow-memory/1 {\"peaks\": {\"anonBytes\": 77}}'}}")
#define OTHER_ENDED \
	"{metadata: {namespace: other, labels: {ray.io/cluster: d, ray.io/group: g}}, " \
	"status: {containerStatuses: [{name: afterglow, state: {terminated: {message: '#afterglow-memory/1 {\"peaks\": {}}'}}}]}}"

struct fixture {
	struct fake_api api;
	struct client *client;
	struct metrics metrics;
	struct memory_keeper *keeper;
	bool allowed;
	const char *wanted;
};

static bool may_write(void *arg)
{
	return ((struct fixture *)arg)->allowed;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = { 0 };

	fake_api_start(&f->api);
	f->client = fake_client(&f->api.server, NULL);
	f->allowed = true;
	struct memory_keeper_options options = {
		.base = f->api.server.base, .client = f->client, .metrics = &f->metrics, .may_write = may_write, .arg = f,
	};
	assert_int_equal(memory_keeper_new(&options, &f->keeper, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	client_free(f->client);
	memory_keeper_free(f->keeper);
	metrics_release(&f->metrics);
	fake_api_stop(&f->api);
	free(f);
	return 0;
}

static void see(struct fixture *f, const char *before, const char *after)
{
	_cleanup_json_ cJSON *was = before ? json_of(before) : NULL,
			     *is = after ? json_of(after) : NULL;

	memory_keeper_see(f->keeper, was, is);
}

static bool has_come(void *arg)
{
	struct fixture *f = arg;

	return fake_api_count(&f->api, f->wanted) > 0;
}

static void wait_for_request(struct fixture *f, const char *request)
{
	f->wanted = request;
	fake_api_turn(&f->api, has_come, f);
}

static void pods_that_end_together_are_one_write(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", MAP, 404, STATUS("404"), 0);
	see(f, RUNS, ENDED);
	see(f, RUNS, ENDED);
	wait_for_request(f, "POST " MAPS);
	assert_int_equal(fake_api_count(&f->api, "GET " MAP), 1);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\\\"containers\\\":2"));
}

static void a_configmap_that_exists_is_merged(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(
		&f->api, "GET", MAP, 200,
		"{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"afterglow-memory\"},\"data\":{}}",
		0);
	see(f, RUNS, ENDED);
	wait_for_request(f, "PATCH " MAP);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\\\"anonBytes\\\":77"));
}

static void only_a_pod_that_is_seen_to_end_counts(void **state)
{
	struct fixture *f = *state;

	/* The first list of a new operator has ended pods, which an earlier one has counted. */
	see(f, NULL, ENDED);
	see(f, ENDED, ENDED);
	see(f, RUNS, RUNS);
	see(f, ENDED, NULL);
	see(f, RUNS, POD("{terminated: {message: killed}}"));
	f->allowed = false;
	see(f, RUNS, ENDED);
	f->allowed = true;
	see(f, RUNS, OTHER_ENDED);
	wait_for_request(f, "GET /api/v1/namespaces/other");
	assert_int_equal(fake_api_count(&f->api, "GET"), 1);
}

static void what_is_forbidden_is_not_tried_again(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", MAP, 403, STATUS("403"), 0);
	see(f, RUNS, ENDED);
	wait_for_request(f, "GET " MAP);
	fake_api_idle(&f->api);
	see(f, RUNS, OTHER_ENDED);
	wait_for_request(f, "GET /api/v1/namespaces/other");
	assert_int_equal(fake_api_count(&f->api, "GET " MAP), 1);
}

static void a_configmap_that_a_tenant_has_filled_is_tried_once(void **state)
{
	struct fixture *f = *state;
	_cleanup_strbuf_ struct strbuf map = STRBUF_INIT(1 << 15);

	strbuf_adds(&map, "{\"kind\":\"ConfigMap\",\"data\":{\"x\":\"\"");
	for (int i = 0; i < 100; i++)
		strbuf_addf(&map, ",\"x%d\":\"\"", i);
	strbuf_adds(&map, "}}");
	fake_api_answers(&f->api, "GET", MAP, 200, strbuf_str(&map), 0);
	see(f, RUNS, ENDED);
	see(f, RUNS, OTHER_ENDED);
	wait_for_request(f, "GET /api/v1/namespaces/other");
	assert_int_equal(fake_api_count(&f->api, "GET " MAP), 1);
	assert_int_equal(fake_api_count(&f->api, "PATCH " MAP), 0);
}

static void a_conflict_is_tried_again_and_a_refusal_is_not(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "PATCH", MAP, 409, STATUS("409"), 1);
	fake_api_answers(&f->api, "PATCH", MAP, 422, STATUS("422"), 0);
	fake_api_answers(&f->api, "GET", MAP, 200, "{\"kind\":\"ConfigMap\",\"immutable\":true}",
			 0);
	see(f, RUNS, ENDED);
	see(f, RUNS, OTHER_ENDED);
	wait_for_request(f, "GET /api/v1/namespaces/other");
	assert_int_equal(fake_api_count(&f->api, "PATCH " MAP), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pods_that_end_together_are_one_write, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_configmap_that_exists_is_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(only_a_pod_that_is_seen_to_end_counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_forbidden_is_not_tried_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_configmap_that_a_tenant_has_filled_is_tried_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_conflict_is_tried_again_and_a_refusal_is_not,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
