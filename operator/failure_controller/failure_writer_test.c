/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of how a death becomes a RayFailure, and of how the writer handles the API server's
 * refusals.
 */
#include "operator/failure_controller/failure_writer.h"

#include "lib/units.h"
#include "operator/cache/watches.h"
#include "operator/failure_controller/inquiry.h"
#include "operator/kube/testing_api.h"

#define FAILURES "/apis/afterglow.dev/v1alpha1/namespaces/ml/rayfailures"
#define STATUS(code, reason) "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"no\""
#define ENDS STATUS(403, "Forbidden") ",\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}"
#define OLDER \
	STATUS(422, "Invalid") ",\"details\":{\"causes\":[{\"reason\":\"FieldValueNotSupported\",\"field\":\"spec.class\"}]}}"

struct fixture {
	struct fake_api api;
	struct client *client;
	struct metrics metrics;
	struct watches *watches;
	struct failure_owners *owners;
	struct inquiries *inquiries;
	struct failure_writer *writer;
	bool leads, allowed, unwanted;
	unsigned written, lost, older;
};

static bool is_leader(void *arg)
{
	return ((struct fixture *)arg)->leads;
}

static bool may_write(void *arg)
{
	return ((struct fixture *)arg)->allowed;
}

static bool wanted(void *arg, const struct ray_failure *failure, const char **ret_why)
{
	(void)failure;
	*ret_why = "for the test";
	return !((struct fixture *)arg)->unwanted;
}

static cJSON *reconsider(void *arg, const cJSON *object)
{
	(void)arg;
	/* It has its signature by then. */
	assert_non_null(json_str(object, "spec.signature"));
	return NULL;
}

static void on_written(void *arg, const char *cluster)
{
	assert_string_equal(cluster, "ml/demo");
	((struct fixture *)arg)->written++;
}

static void on_lost(void *arg, const struct ray_failure *failure, const char *why)
{
	assert_non_null(failure);
	assert_non_null(why);
	((struct fixture *)arg)->lost++;
}

static void on_older_crd(void *arg, const char *what)
{
	assert_string_equal(what, "class");
	((struct fixture *)arg)->older++;
}

static const cJSON *find_cluster(void *arg, const char *key)
{
	return store_peek(watches_store(((struct fixture *)arg)->watches, WATCH_CLUSTERS), key);
}

static bool cluster_is_gone(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	return false;
}

static void on_state(void *arg)
{
	(void)arg;
}

static bool is_synced(void *arg)
{
	return watches_synced(((struct fixture *)arg)->watches);
}

static void new_writer(struct fixture *f)
{
	struct failure_owners_options owners = { .client = f->client,
						 .find_cluster = find_cluster,
						 .arg = f };
	struct inquiries_options inquiries = { .client = f->client,
					       .find_cluster = find_cluster,
					       .cluster_is_gone = cluster_is_gone,
					       .arg = f };
	struct failure_writer_options options = {
		.base = f->api.server.base,
		.client = f->client,
		.known = watches_informer(f->watches, WATCH_FAILURES),
		.pods = watches_informer(f->watches, WATCH_PODS),
		.metrics = &f->metrics,
		.is_leader = is_leader,
		.may_write = may_write,
		.wanted = wanted,
		.reconsider = reconsider,
		.on_written = on_written,
		.on_lost = on_lost,
		.on_older_crd = on_older_crd,
		.arg = f,
	};

	assert_int_equal(failure_owners_new(&owners, &f->owners, &(struct err){ 0 }), 0);
	assert_int_equal(inquiries_new(&inquiries, &f->inquiries, &(struct err){ 0 }), 0);
	options.owners = f->owners;
	options.inquiries = f->inquiries;
	assert_int_equal(failure_writer_new(&options, &f->writer, &(struct err){ 0 }), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fake_api_start(&f->api);
	f->client = fake_client(&f->api.server, NULL);
	f->leads = f->allowed = true;
	struct watches_options watches = { .base = f->api.server.base,
					   .client = f->client,
					   .namespace = "ml",
					   .on_state = on_state };
	assert_int_equal(watches_new(&watches, &f->watches, &(struct err){ 0 }), 0);
	new_writer(f);
	watches_start(f->watches);
	fake_api_turn(&f->api, is_synced, f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	watches_free(f->watches);
	client_free(f->client);
	failure_writer_free(f->writer);
	inquiries_free(f->inquiries);
	failure_owners_free(f->owners);
	metrics_release(&f->metrics);
	fake_api_stop(&f->api);
	free(f);
	return 0;
}

static void end_in(struct fixture *f, const char *namespace, const char *name, int code,
		   const char *at)
{
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"u-%s\",\"labels\":{\"ray.io/cluster\":\"demo\","
		"\"ray.io/group\":\"g\"}},\"spec\":{\"containers\":[{\"name\":\"ray-worker\"}]},\"status\":{\"phase\":\"Failed\","
		"\"containerStatuses\":[{\"name\":\"ray-worker\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":%d,"
		"\"containerID\":\"containerd://%s\",\"finishedAt\":\"%s\"}}}]}}",
		namespace, name, name, code, name, at);
	_cleanup_json_ cJSON *pod = cJSON_Parse(text);
	assert_non_null(pod);
	failure_writer_see(f->writer, pod, false);
}

static void end(struct fixture *f, const char *name, int code, const char *at)
{
	end_in(f, "ml", name, code, at);
}

/*
 * Adds a pod whose container crashed. Nothing outside of it explains that, so nobody is asked and
 * nothing delays it.
 */
static void crash(struct fixture *f, const char *name)
{
	end(f, name, 139, "2026-11-21T01:05:00Z");
}

static bool is_settled(void *arg)
{
	const struct fixture *f = arg;

	return failure_writer_n_pending(f->writer) == 0 && failure_writer_in_flight(f->writer) == 0;
}

static bool has_tried(void *arg)
{
	return fake_api_count(&((struct fixture *)arg)->api, "POST " FAILURES) > 0;
}

/* Writes the key of the first RayFailure of w1 that was sent into buf, and returns buf. */
static const char *written_key(const struct fixture *f, char *buf, size_t size)
{
	const char *name = strstr(strbuf_str(&f->api.bodies), "\"name\":\"w1-ray-worker-");

	assert_non_null(name);
	snprintf(buf, size, "ml/%.*s", (int)strcspn(name + 8, "\""), name + 8);
	return buf;
}

static void a_death_is_written_once(void **state)
{
	struct fixture *f = *state;

	crash(f, "w1");
	crash(f, "w1");
	assert_int_equal(failure_writer_n_pending(f->writer), 1);
	fake_api_turn(&f->api, is_settled, f);
	crash(f, "w1");
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 1);
	assert_int_equal(f->written, 1);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "afterglow.dev/facts"));
}

static void a_failure_that_another_replica_wrote_is_as_good_as_our_own(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 409, STATUS(409, "AlreadyExists") "}", 0);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(f->written, 1);
	assert_int_equal(f->lost, 0);
}

static void a_failure_whose_answer_was_lost_is_written_once(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 0, NULL, 1);
	fake_api_answers(&f->api, "POST", FAILURES, 409, STATUS(409, "AlreadyExists") "}", 0);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 2);
	assert_int_equal(f->written, 1);
	assert_int_equal(f->lost, 0);
}

static bool waits_again(void *arg)
{
	return has_tried(arg) && failure_writer_in_flight(((struct fixture *)arg)->writer) == 0;
}

static void a_failure_whose_answer_was_lost_may_come_by_the_watch(void **state)
{
	struct fixture *f = *state;
	char key[128];

	fake_api_answers(&f->api, "POST", FAILURES, 0, NULL, 0);
	crash(f, "w1");
	fake_api_turn(&f->api, waits_again, f);
	assert_int_equal(f->written, 0);
	failure_writer_written(f->writer, written_key(f, key, sizeof(key)));
	assert_int_equal(f->written, 1);
	assert_int_equal(failure_writer_n_pending(f->writer), 0);
}

static void a_failure_that_is_written_although_the_server_failed_is_not_lost(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 504, STATUS(504, "Timeout") "}", 1);
	fake_api_answers(&f->api, "POST", FAILURES, 409, STATUS(409, "AlreadyExists") "}", 0);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(f->written, 1);
	assert_int_equal(f->lost, 0);
}

/* This is the usual order: the watch is faster than the answer to the write. */
static void a_failure_that_the_watch_shows_while_its_write_has_no_answer_is_written(void **state)
{
	struct fixture *f = *state;
	cJSON *object = cJSON_CreateObject();
	char key[128];

	fake_api_answers(&f->api, "POST", FAILURES, 0, NULL, 0);
	crash(f, "w1");
	fake_api_turn(&f->api, waits_again, f);
	json_set_str(object, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(object, "kind", "RayFailure");
	json_set_str(json_object_at(object, "metadata"), "namespace", "ml");
	json_set_str(json_object_at(object, "metadata"), "name",
		     strchr(written_key(f, key, sizeof(key)), '/') + 1);
	json_set_str(json_object_at(object, "metadata"), "uid", "u-1");
	json_set_str(json_object_at(object, "metadata"), "resourceVersion", "99999");
	informer_learn(watches_informer(f->watches, WATCH_FAILURES), object);
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(f->written, 1);
	assert_int_equal(f->lost, 0);
}

static void a_server_in_trouble_is_asked_again(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 500, STATUS(500, "InternalError") "}", 1);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 2);
	assert_int_equal(f->written, 1);
}

static void a_crd_of_an_older_release_gets_what_it_takes(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 422, OLDER, 1);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 2);
	assert_int_equal(f->older, 1);
	assert_int_equal(f->lost, 0);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "\"class\":\"Unknown\""));
}

static void a_failure_that_the_server_never_takes_is_reported_as_lost(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 400, STATUS(400, "BadRequest") "}", 0);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(f->lost, 1);
	/* The pod need not wait for it any more. */
	assert_int_equal(f->written, 1);
}

static void a_namespace_that_ends_takes_no_failure_and_that_is_no_loss(void **state)
{
	struct fixture *f = *state;

	fake_api_answers(&f->api, "POST", FAILURES, 403, ENDS, 0);
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(f->lost, 0);
}

static void what_nobody_would_keep_is_not_written(void **state)
{
	struct fixture *f = *state;

	f->unwanted = true;
	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 0);
	assert_int_equal(f->lost, 0);
}

static void a_standby_keeps_nothing_that_the_pod_still_tells(void **state)
{
	struct fixture *f = *state;

	f->leads = f->allowed = false;
	crash(f, "w1");
	assert_int_equal(failure_writer_n_pending(f->writer), 0);
}

static void a_leader_that_may_not_write_yet_writes_when_it_may(void **state)
{
	struct fixture *f = *state;

	f->allowed = false;
	crash(f, "w1");
	fake_api_idle(&f->api);
	assert_int_equal(fake_api_count(&f->api, "POST " FAILURES), 0);
	assert_int_equal(failure_writer_n_pending(f->writer), 1);
	f->allowed = true;
	failure_writer_wake(f->writer);
	fake_api_turn(&f->api, has_tried, f);
}

/* Removes the RayFailure, as somebody may who does not want it any more. */
static void remove_written(struct fixture *f)
{
	struct informer *known = watches_informer(f->watches, WATCH_FAILURES);
	char key[128], uid[64];

	snprintf(uid, sizeof(uid), "%s",
		 json_str_or(store_get(informer_store(known), written_key(f, key, sizeof(key))),
			     "metadata.uid", ""));
	informer_learn_gone(known, key, uid);
	assert_false(store_has(informer_store(known), key));
	failure_writer_removed(f->writer, key);
}

static void a_failure_that_was_removed_does_not_come_back_while_its_pod_is_there(void **state)
{
	struct fixture *f = *state;

	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	f->written = 0;
	remove_written(f);
	crash(f, "w1");
	assert_int_equal(failure_writer_n_pending(f->writer), 0);
}

static void removed_failures_without_end_of_a_namespace_bring_back_none_of_another(void **state)
{
	enum { WITHOUT_END = 250000 };
	struct fixture *f = *state;
	char key[128];

	crash(f, "w1");
	fake_api_turn(&f->api, is_settled, f);
	f->written = 0;
	remove_written(f);
	for (int i = 0; i < WITHOUT_END; i++) {
		snprintf(key, sizeof(key), "m/%d", i);
		failure_writer_removed(f->writer, key);
	}
	crash(f, "w1");
	assert_int_equal(failure_writer_n_pending(f->writer), 0);
}

/* The kubelet kills for a failed probe; its Event takes another way than the pod's status. */
static void an_event_that_comes_after_the_pods_status_explains_the_end(void **state)
{
	struct fixture *f = *state;
	char now[TIME_TEXT_MAX], events[512];

	time_format(now_realtime_ns(), now);
	snprintf(
		events, sizeof(events),
		"{\"items\":[{\"reason\":\"Killing\",\"message\":\"Container ray-worker failed liveness probe, will be restarted\","
		"\"involvedObject\":{\"uid\":\"u-w1\",\"fieldPath\":\"spec.containers{ray-worker}\"},\"lastTimestamp\":\"%s\"}]}",
		now);
	fake_api_answers(&f->api, "GET", "/events", 200, "{\"items\":[]}", 1);
	fake_api_answers(&f->api, "GET", "/events", 200, events, 0);
	end(f, "w1", 143, now);
	fake_api_turn(&f->api, is_settled, f);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "ProbeKilled"));
	assert_int_equal(fake_api_count(&f->api, "GET /api/v1/namespaces/ml/events"), 2);
}

static void an_event_of_long_ago_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	end(f, "w1", 143, "2026-11-21T01:05:00Z");
	fake_api_turn(&f->api, is_settled, f);
	assert_int_equal(fake_api_count(&f->api, "GET /api/v1/namespaces/ml/events"), 1);
	assert_non_null(strstr(strbuf_str(&f->api.bodies), "Terminated"));
}

/* The deaths of one namespace have half of the places at a time: one of another has its turn. */
static bool another_namespace_was_asked_about(void *arg)
{
	const struct fixture *f = arg;

	assert_in_range(failure_writer_in_flight(f->writer), 0, 5);
	return fake_api_count(&f->api, "GET /api/v1/namespaces/other/events") > 0;
}

/* A tenant can write so many Events that it takes as long to read them as an inquiry may last. */
static void deaths_of_which_the_inquiries_take_long_leave_places_to_those_of_another_namespace(
	void **state)
{
	struct fixture *f = *state;
	char name[16];

	fake_api_answers(&f->api, "GET", "/events", -1, NULL, 0);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		end(f, name, 143, "2026-11-21T01:05:00Z");
	}
	end_in(f, "other", "victim", 143, "2026-11-21T01:05:00Z");
	fake_api_turn(&f->api, another_namespace_was_asked_about, f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			deaths_of_which_the_inquiries_take_long_leave_places_to_those_of_another_namespace,
			setup, teardown),
		cmocka_unit_test_setup_teardown(a_death_is_written_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_that_another_replica_wrote_is_as_good_as_our_own, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_failure_whose_answer_was_lost_is_written_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_whose_answer_was_lost_may_come_by_the_watch, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_that_is_written_although_the_server_failed_is_not_lost, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_that_the_watch_shows_while_its_write_has_no_answer_is_written,
			setup, teardown),
		cmocka_unit_test_setup_teardown(a_server_in_trouble_is_asked_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_crd_of_an_older_release_gets_what_it_takes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_that_the_server_never_takes_is_reported_as_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_namespace_that_ends_takes_no_failure_and_that_is_no_loss, setup,
			teardown),
		cmocka_unit_test_setup_teardown(what_nobody_would_keep_is_not_written, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_standby_keeps_nothing_that_the_pod_still_tells,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_leader_that_may_not_write_yet_writes_when_it_may,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_that_was_removed_does_not_come_back_while_its_pod_is_there, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			removed_failures_without_end_of_a_namespace_bring_back_none_of_another,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_event_that_comes_after_the_pods_status_explains_the_end, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_event_of_long_ago_is_not_waited_for, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
