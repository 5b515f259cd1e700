/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which Events a RayFailure gets, and of their texts, with a server that answers from a
 * script.
 */
#include "operator/failure_controller/failure_events.h"

#include "lib/json.h"
#include "operator/kube/testing.h"

static cJSON *cluster;

static const cJSON *find_cluster(void *arg, const char *key)
{
	(void)arg;
	return strcmp(key, "ml/demo") == 0 ? cluster : NULL;
}

static bool may_write(void *arg)
{
	(void)arg;
	return true;
}

/* A RayFailure in namespace ml of the RayCluster, and of the RayJob unless job is NULL. */
static cJSON *failure(const char *name, const char *cluster_name, const char *class,
		      const char *job)
{
	cJSON *f = cJSON_CreateObject(), *spec = json_object_at(f, "spec"),
	      *metadata = json_object_at(f, "metadata");

	json_set_str(metadata, "namespace", "ml");
	json_set_str(metadata, "name", name);
	json_set_str(spec, "cluster", cluster_name);
	json_set_str(spec, "class", class);
	json_set_str(spec, "pod", "demo-worker-abcde");
	json_set_str(spec, "verdict", "It reached its memory limit...");
	if (job) {
		cJSON *owner = json_object_at(spec, "owner");

		json_set_str(owner, "kind", "RayJob");
		json_set_str(owner, "name", job);
		json_set_str(owner, "uid", "u-job");
	}
	return f;
}

struct fixture {
	struct fake_server server;
	struct client *client;
	struct event_recorder *recorder;
	struct failure_events events;
};

static void start(struct fixture *f, const struct exchange *script, size_t n)
{
	struct err err = { 0 };

	fake_server_start(&f->server, script, n);
	f->client = fake_client(&f->server, NULL);
	struct event_recorder_options recorder = { .base = f->server.base,
						   .client = f->client,
						   .may_write = may_write };
	assert_int_equal(event_recorder_new(&recorder, &f->recorder, &err), 0);
	f->events =
		(struct failure_events){ .recorder = f->recorder, .find_cluster = find_cluster };
	cluster = cJSON_Parse(
		"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"demo\",\"uid\":\"u-demo\"}}");
}

static void stop(struct fixture *f)
{
	client_free(f->client);
	event_recorder_free(f->recorder);
	fake_server_stop(&f->server);
	cJSON_Delete(cluster);
}

/* Returns whether an Event was emitted. */
static bool tell(struct fixture *f, cJSON *taken, struct incident_telling telling)
{
	_cleanup_json_ cJSON *owned = taken;

	return failure_events_tell(&f->events, owned, &telling);
}

/* Runs until the script is over, and returns what was written. */
static const char *written(struct fixture *f)
{
	for (int i = 0; i < 600 && f->server.at < f->server.n; i++) {
		event_base_loopexit(f->server.base, &(struct timeval){ .tv_usec = 50000 });
		event_base_dispatch(f->server.base);
	}
	assert_int_equal(f->server.at, f->server.n);
	return strbuf_str(&f->server.bodies);
}

#define POST { "POST", "/apis/events.k8s.io/v1/namespaces/ml/events", 201, "{}", NULL, NULL, false }

static void a_cluster_has_one_event_for_each_class(void **state)
{
	static const struct exchange script[] = { POST, POST };
	struct fixture f;
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	assert_true(tell(&f, failure("a", "demo", "KernelOOMContainer", NULL),
			 (struct incident_telling){ 0 }));
	assert_false(tell(&f, failure("b", "demo", "KernelOOMContainer", NULL),
			  (struct incident_telling){ 0 }));
	assert_true(
		tell(&f, failure("c", "demo", "Segfault", NULL), (struct incident_telling){ 0 }));
	const char *bodies = written(&f);
	assert_non_null(strstr(bodies, "\"reason\":\"KernelOOMContainer\""));
	assert_non_null(strstr(bodies, "\"reason\":\"Segfault\""));
	assert_non_null(strstr(bodies, "\"uid\":\"u-demo\""));
	/* The sidecar's sentence ends with a full stop; the note has only one. */
	assert_non_null(strstr(
		bodies, "It reached its memory limit. See kubectl describe rayfailure -n ml a;"));
	stop(&f);
}

static void a_rayjob_has_its_own_and_it_names_the_pod(void **state)
{
	static const struct exchange script[] = { POST };
	struct fixture f;
	(void)state;

	/* Its RayCluster has been deleted, and an Event about it would have no uid. */
	start(&f, script, ARRAY_SIZE(script));
	assert_true(
		tell(&f, failure("a", "gone", "Killed", "train"), (struct incident_telling){ 0 }));
	const char *bodies = written(&f);
	assert_non_null(strstr(bodies, "\"kind\":\"RayJob\""));
	assert_non_null(strstr(bodies, "Pod demo-worker-abcde of RayCluster gone:"));
	assert_non_null(strstr(bodies, "-l afterglow.dev/owner-name=train"));
	stop(&f);
}

static void more_consequences_are_reported_at_once(void **state)
{
	static const struct exchange script[] = { POST, POST };
	struct fixture f;
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	assert_true(tell(&f, failure("a", "demo", "GCSFailed", NULL),
			 (struct incident_telling){ .consequences = 1, .id = "i1" }));
	assert_true(
		tell(&f, failure("a", "demo", "GCSFailed", NULL),
		     (struct incident_telling){ .consequences = 3, .id = "i1", .again = true }));
	const char *bodies = written(&f);
	assert_non_null(strstr(
		bodies,
		"; 1 other end followed from it (kubectl get rayfailures -n ml -l afterglow.dev/incident=i1)"));
	assert_non_null(strstr(bodies, "; 3 other ends followed from it"));
	stop(&f);
}

static void a_rayjob_whose_driver_followed_is_told_the_cause_and_what_to_try(void **state)
{
	static const struct exchange script[] = { POST };
	cJSON *oom = failure("a", "gone", "KernelOOMContainer", "train");
	struct fixture f;
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	json_set_str(json_get(oom, "spec"), "advice", "a limit of 1.9 GiB or more");
	assert_true(
		tell(&f, oom,
		     (struct incident_telling){ .consequences = 1, .id = "i1", .ends_job = true }));
	assert_non_null(strstr(
		written(&f),
		"\"The job's driver failed because of this. Pod demo-worker-abcde of RayCluster gone: It reached "
		"its memory limit. Try: a limit of 1.9 GiB or more; 1 other end followed from it"));
	stop(&f);
}

static void a_long_verdict_or_advice_is_cut_between_words_and_says_so(void **state)
{
	static const struct exchange script[] = { POST };
	cJSON *oom = failure("a", "gone", "KernelOOMContainer", "train");
	char text[1024] = "";
	struct fixture f;
	(void)state;

	/* A cut at any byte would end in the middle of a word, or of its first letter. */
	for (int i = 0; i < 70; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "\xc3\xa4stimate ");
	start(&f, script, ARRAY_SIZE(script));
	json_set_str(json_get(oom, "spec"), "verdict", text);
	json_set_str(json_get(oom, "spec"), "advice", text);
	assert_true(tell(&f, oom, (struct incident_telling){ 0 }));
	const char *bodies = written(&f);
	assert_non_null(strstr(bodies, "\xc3\xa4stimate.... Try: \xc3\xa4stimate "));
	assert_non_null(strstr(bodies, "\xc3\xa4stimate.... See kubectl describe rayfailure"));
	stop(&f);
}

static void what_an_exception_names_and_nobody_saw_is_said_to_be_so(void **state)
{
	static const struct exchange script[] = { POST };
	cJSON *driver = failure("a", "gone", "RayJobFailed", "train");
	struct fixture f;
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	json_set_str(json_object_at(json_get(driver, "spec"), "rayError"), "ip", "10.0.0.7");
	assert_true(tell(&f, driver, (struct incident_telling){ .consequences = 2, .id = "i1" }));
	assert_non_null(
		strstr(written(&f), "; no RayFailure of this cluster explains that death: "));
	stop(&f);
}

static void a_failure_that_lacks_what_an_event_says_gets_none(void **state)
{
	struct fixture f;
	(void)state;

	start(&f, NULL, 0);
	assert_false(tell(&f, cJSON_CreateObject(), (struct incident_telling){ 0 }));
	assert_false(
		tell(&f, failure("a", "gone", "Killed", NULL), (struct incident_telling){ 0 }));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cluster_has_one_event_for_each_class),
		cmocka_unit_test(a_rayjob_has_its_own_and_it_names_the_pod),
		cmocka_unit_test(more_consequences_are_reported_at_once),
		cmocka_unit_test(a_rayjob_whose_driver_followed_is_told_the_cause_and_what_to_try),
		cmocka_unit_test(a_long_verdict_or_advice_is_cut_between_words_and_says_so),
		cmocka_unit_test(what_an_exception_names_and_nobody_saw_is_said_to_be_so),
		cmocka_unit_test(a_failure_that_lacks_what_an_event_says_gets_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
