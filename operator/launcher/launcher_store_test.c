/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the launchers' ConfigMaps, one in each namespace with Ray, with an API server of the
 * test.
 */
#include "operator/launcher/launcher_store.h"

#include "operator/kube/testing_api.h"

#define MAP "/api/v1/namespaces/ml/configmaps/afterglow-launch"
#define MAPS "/api/v1/namespaces/ml/configmaps"
#define NOT_FOUND "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"
#define FORBIDDEN "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\"}"
#define ENDS                                                                                                 \
	"{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"details\":{\"causes\":[{\"reason\":" \
	"\"NamespaceTerminating\"}]}}"

struct fixture {
	struct fake_api api;
	struct client *client;
	struct launchers launchers;
	struct metrics metrics;
	struct launcher_store *store;
	bool allowed;
	unsigned settled;
	char map[512]; /* the ConfigMap that the API server has */
};

static bool may_write(void *arg)
{
	return ((struct fixture *)arg)->allowed;
}

static bool is_whole(void *arg)
{
	(void)arg;
	return true;
}

static void on_settled(void *arg, const char *namespace)
{
	struct fixture *f = arg;

	assert_string_equal(namespace, "ml");
	f->settled++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = { 0 };

	fake_api_start(&f->api);
	f->client = fake_client(&f->api.server, NULL);
	f->launchers.of[0] = launcher_of("x86_64", "program", 7);
	f->launchers.n = 1;
	f->allowed = true;
	struct launcher_store_options options = {
		.base = f->api.server.base, .client = f->client, .launchers = &f->launchers, .metrics = &f->metrics,
		.may_write = may_write, .is_whole = is_whole, .on_settled = on_settled, .arg = f,
	};
	assert_int_equal(launcher_store_new(&options, &f->store, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	client_free(f->client);
	launcher_store_free(f->store);
	metrics_release(&f->metrics);
	fake_api_stop(&f->api);
	free(f);
	return 0;
}

static void a_cluster_comes(struct fixture *f)
{
	_cleanup_json_ cJSON *cluster =
		cJSON_Parse("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo\"}}");

	launcher_store_see_cluster(f->store, NULL, cluster);
}

/* The ConfigMap has these bytes, in base64, under the key of our launcher. */
static void has_launcher(struct fixture *f, const char *bytes)
{
	snprintf(
		f->map, sizeof(f->map),
		"{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"afterglow-launch\",\"resourceVersion\":\"7\"},"
		"\"binaryData\":{\"%s\":\"%s\"}}",
		f->launchers.of[0].key, bytes);
	fake_api_answers(&f->api, "GET", MAP, 200, f->map, 0);
}

static bool is_settled(void *arg)
{
	const struct fixture *f = arg;

	return f->settled && launcher_store_settled(f->store, "ml");
}

static void a_namespace_with_its_first_cluster_gets_the_launchers(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", MAP, 404, NOT_FOUND, 0);
	assert_true(launcher_store_settled(f->store, "ml"));
	a_cluster_comes(f);
	assert_false(launcher_store_settled(f->store, "ml"));
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " MAPS), 1);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), f->launchers.of[0].key));
	assert_int_equal(f->settled, 1);
	/* Another cluster in the namespace causes no request. */
	a_cluster_comes(f);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, ""), 2);
}

static void launchers_that_are_there_are_not_written_again(void **state)
{
	struct fixture *f = *state;

	has_launcher(f, "cHJvZ3JhbQ==");
	a_cluster_comes(f);
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST"), 0);
	assert_int_equal(fake_api_count(&f->api, "PATCH"), 0);
}

static void somebody_elses_bytes_under_our_key_are_replaced(void **state)
{
	struct fixture *f = *state;

	has_launcher(f, "ZXZpbA==");
	a_cluster_comes(f);
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "PATCH " MAP), 1);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "cHJvZ3JhbQ=="));
}

static void a_refusal_keeps_no_pod_waiting(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", MAP, 404, NOT_FOUND, 0);
	fake_api_answers(&f->api, "POST", MAPS, 403, FORBIDDEN, 0);
	a_cluster_comes(f);
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " MAPS), 1);
}

static void a_namespace_that_is_being_deleted_keeps_no_pod_waiting(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "GET", MAP, 404, NOT_FOUND, 0);
	fake_api_answers(&f->api, "POST", MAPS, 403, ENDS, 0);
	a_cluster_comes(f);
	fake_api_turn(&f->api, is_settled, f);
}

static bool is_asked(void *arg)
{
	const struct fixture *f = arg;

	return fake_api_count(&f->api, "GET " MAP) > 0;
}

static void a_standby_asks_nothing_until_it_is_the_leader(void **state)
{
	struct fixture *f = *state;

	f->allowed = false;
	a_cluster_comes(f);
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, ""), 0);
	f->allowed = true;
	launcher_store_begin(f->store);
	fake_api_turn(&f->api, is_asked, f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_namespace_with_its_first_cluster_gets_the_launchers, setup, teardown),
		cmocka_unit_test_setup_teardown(launchers_that_are_there_are_not_written_again, setup, teardown),
		cmocka_unit_test_setup_teardown(somebody_elses_bytes_under_our_key_are_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(a_refusal_keeps_no_pod_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(a_namespace_that_is_being_deleted_keeps_no_pod_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(a_standby_asks_nothing_until_it_is_the_leader, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
