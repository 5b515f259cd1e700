/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of executing a plan, with an API server that answers from a script. */
#include "operator/cluster_controller/execution.h"

#include "lib/units.h"
#include "operator/cluster_controller/op_result.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NS "/namespaces/ns"
#define EVENTS "/apis/events.k8s.io/v1" NS "/events"
#define FORBIDDEN "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\"}"
#define NOT_FOUND "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"
#define GONE "{\"kind\":\"Status\",\"status\":\"Success\"}"
#define EXISTS "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\"}"
#define POD "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"" /* and the name */
/* and the group */
#define OF_GROUP "\",\"labels\":{\"ray.io/node-type\":\"worker\",\"ray.io/group\":\""
#define SERVICE "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"s\"}}"
#define EVENT \
	"{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"e.1\"}," \
	"\"type\":\"Warning\",\"reason\":\"R\",\"note\":\"n\"}"

struct fixture {
	struct fake_server server;
	struct client *client;
	struct watches *watches;
	struct event_recorder *recorder;
	struct known_state known;
	struct metrics metrics;
	struct executor executor;
	struct execution execution;
	unsigned answers;
	bool allowed, over;
};

static bool may_record(void *arg)
{
	return ((struct fixture *)arg)->allowed;
}

static bool may_write(void *arg, const char *namespace)
{
	return may_record(arg) && strcmp(namespace, "ns") == 0;
}

/* Does what reconcile.c does. */
static void go_on(struct fixture *f)
{
	struct execution *x = &f->execution;

	while (execution_may_start(x))
		execution_start(x);
	f->over = x->in_flight == 0;
}

static void on_answered(void *arg)
{
	struct fixture *f = arg;

	f->answers++;
	go_on(f);
}

static void on_state(void *arg)
{
	(void)arg;
}

static void start(struct fixture *f, const struct exchange *script, size_t n)
{
	struct err err = { 0 };

	f->allowed = true;
	fake_server_start(&f->server, script, n);
	f->client = fake_client(&f->server, NULL);
	struct watches_options watches = { .base = f->server.base,
					   .client = f->client,
					   .on_state = on_state };
	assert_int_equal(watches_new(&watches, &f->watches, &err), 0);
	struct event_recorder_options recorder = {
		.base = f->server.base, .client = f->client, .may_write = may_record, .arg = f, .interval_ms = 1
	};
	assert_int_equal(event_recorder_new(&recorder, &f->recorder, &err), 0);
	f->executor = (struct executor){ .client = f->client,
					 .watches = f->watches,
					 .known = &f->known,
					 .metrics = &f->metrics,
					 .recorder = f->recorder,
					 .applied_ns = NS_PER_SEC,
					 .may_write = may_write,
					 .arg = f };
	f->execution = (struct execution){ .executor = &f->executor,
					   .key = "ns/demo",
					   .namespace = "ns",
					   .answered = on_answered,
					   .arg = f,
					   .news = cJSON_CreateArray() };
}

static void add(struct fixture *f, enum plan_op_kind kind, const char *body)
{
	struct plan *plan = &f->execution.plan;

	plan->ops = realloc(plan->ops, (plan->n_ops + 1) * sizeof(*plan->ops));
	struct plan_op op = { .kind = kind, .body = cJSON_Parse(body) };
	assert_non_null(op.body);
	if (kind == PLAN_CREATE && op_is_kind(&op, "Pod")) {
		op.template = cJSON_Parse(body);
		plan->templates = plan->templates ? plan->templates : cJSON_CreateArray();
		json_append(plan->templates, (cJSON *)op.template);
	}
	plan->ops[plan->n_ops++] = op;
}

/* Runs until both the plan and the script are over. */
static void run(struct fixture *f)
{
	struct err err = { 0 };

	assert_int_equal(execution_prepare(&f->execution, &err), 0);
	go_on(f);
	for (int i = 0; i < 1200 && (!f->over || f->server.at < f->server.n); i++) {
		event_base_loopexit(f->server.base, &(struct timeval){ .tv_usec = 50000 });
		event_base_dispatch(f->server.base);
	}
	assert_true(f->over);
	assert_int_equal(f->server.at, f->server.n);
	assert_int_equal(f->executor.n_writes, 0);
}

static void stop(struct fixture *f)
{
	client_free(f->client);
	execution_release(&f->execution);
	event_recorder_free(f->recorder);
	watches_free(f->watches);
	known_state_release(&f->known);
	metrics_release(&f->metrics);
	fake_server_stop(&f->server);
}

static void an_event_goes_to_the_event_recorder_and_keeps_no_write_waiting(void **state)
{
	/* The server refuses the Event, which does not concern the plan. */
	static const struct exchange script[] = {
		{ "POST", NS "/services", 201, SERVICE },
		{ "POST", EVENTS, 403, FORBIDDEN },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	add(&f, PLAN_EVENT, EVENT);
	add(&f, PLAN_CREATE, SERVICE);
	assert_int_equal(execution_prepare(&f.execution, &(struct err){ 0 }), 0);
	execution_start(&f.execution);
	assert_int_equal(f.execution.in_flight, 0);
	free(f.execution.steps);
	run(&f);
	assert_int_equal(f.execution.trouble.code, 0);
	assert_int_equal(f.answers, 1);
	assert_non_null(strstr(strbuf_str(&f.server.bodies), "\"reason\":\"R\""));
	stop(&f);
}

/* A token's Secret may not be read, so one of a former cluster shows only in that it is taken. */
static void an_object_that_is_taken_is_believed_for_as_long_as_its_cluster_is_old(void **state)
{
	static const struct exchange script[] = { { "POST", NS "/services", 409, EXISTS } };
	static const enum plan_op_kind kinds[] = { PLAN_BELIEVE, PLAN_CREATE };
	struct fixture f = { 0 };
	char hash[PLAN_HASH_MAX];
	(void)state;

	for (int i = 0; i < 2; i++) {
		start(&f, script, kinds[i] == PLAN_CREATE);
		f.executor.applied_ns = INT64_MAX / 2;
		add(&f, kinds[i], SERVICE);
		f.execution.plan.doubt_ns = 1;
		plan_object_hash(f.execution.plan.ops[0].body, hash);
		run(&f);
		assert_int_equal(f.execution.plan.requeue_ns, i ? 1 : 0);
		assert_int_equal(known_state_is_applied(known_state_of_cluster(&f.known, "ns/demo"),
							"Service", "s", hash),
				 i == 0);
		stop(&f);
		f = (struct fixture){ 0 };
	}
}

/* The Job that deletes a cluster's keys is looked at after seconds, as the plan wants it. */
static void a_farewell_that_finds_a_name_taken_looks_again_when_it_planned_to(void **state)
{
	static const struct exchange script[] = { { "POST", NS "/services", 409, EXISTS } };
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	add(&f, PLAN_CREATE, SERVICE);
	f.execution.plan.requeue_ns = 2 * NS_PER_SEC;
	run(&f);
	assert_int_equal(f.execution.plan.requeue_ns, 2 * NS_PER_SEC);
	stop(&f);
}

static void
a_name_that_is_taken_by_an_object_which_is_being_deleted_is_tried_again_in_a_minute(void **state)
{
	static const struct exchange script[] = {
		{ "POST", NS "/services", 409,
		  "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\",\"message\":"
		  "\"object is being deleted: services \\\"s\\\" already exists\"}" }
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	f.executor.applied_ns = INT64_MAX / 2;
	add(&f, PLAN_CREATE, SERVICE);
	f.execution.plan.doubt_ns = 3600 * NS_PER_SEC;
	run(&f);
	assert_int_equal(f.execution.plan.requeue_ns, 60 * NS_PER_SEC);
	stop(&f);
}

static void an_event_behind_a_write_that_fails_is_not_emitted(void **state)
{
	static const struct exchange script[] = { { "POST", NS "/services", 403, FORBIDDEN } };
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	add(&f, PLAN_CREATE, SERVICE);
	add(&f, PLAN_EVENT, EVENT);
	run(&f);
	assert_int_not_equal(f.execution.trouble.code, 0);
	assert_int_equal(f.execution.at, 1);
	stop(&f);
}

static void a_group_that_is_refused_leaves_the_others_their_pods(void **state)
{
	static const struct exchange script[] = {
		{ "POST", NS "/pods", 403, FORBIDDEN },
		{ "POST", NS "/pods", 201, POD "b-1" OF_GROUP "b\"}}}" },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	f.execution.cautious = true;
	add(&f, PLAN_CREATE, POD "a-1" OF_GROUP "a\"}}}");
	add(&f, PLAN_CREATE, POD "a-2" OF_GROUP "a\"}}}");
	add(&f, PLAN_CREATE, POD "b-1" OF_GROUP "b\"}}}");
	run(&f);
	assert_int_equal(f.execution.at, 3);
	assert_int_not_equal(f.execution.trouble.code, 0);
	assert_string_equal(known_state_of_cluster(&f.known, "ns/demo")->failure_reason,
			    "FailedCreateWorkerPod");
	stop(&f);
}

static void a_pod_that_is_refused_with_its_sidecar_is_tried_once_without_it(void **state)
{
	static const struct exchange script[] = {
		{ "POST", NS "/pods", 403, FORBIDDEN },
		{ "POST", NS "/pods", 403, FORBIDDEN },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	add(&f, PLAN_CREATE,
	    POD "a-1" OF_GROUP
		"a\"}},\"spec\":{\"containers\":[{\"name\":\"ray\"},{\"name\":\"afterglow\"}],"
		"\"volumes\":[{\"name\":\"afterglow-spool\"}]}}");
	run(&f);
	const char *first = strstr(strbuf_str(&f.server.bodies), "\"afterglow\"");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\"afterglow\""));
	assert_int_not_equal(f.execution.trouble.code, 0);
	stop(&f);
}

static void a_pod_whose_creation_got_no_clear_answer_must_be_asked_for(void **state)
{
	static const struct exchange script[] = {
		{ "POST", NS "/pods", 409, EXISTS },
		{ "POST", NS "/pods", 201, POD "a-2" OF_GROUP "a\"}}}" },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	f.execution.cautious = true;
	add(&f, PLAN_CREATE, POD "a-1" OF_GROUP "a\"}}}");
	add(&f, PLAN_CREATE, POD "a-2" OF_GROUP "a\"}}}");
	run(&f);
	assert_int_equal(f.execution.trouble.code, 0);
	assert_string_equal(
		expectations_next(&known_state_of_cluster(&f.known, "ns/demo")->expected), "a-1");
	stop(&f);
}

static void what_is_gone_already_is_deleted_well(void **state)
{
	static const struct exchange script[] = {
		{ "DELETE", NS "/pods/a-1", 404, NOT_FOUND },
		{ "DELETE", NS "/pods/a-2", 200, GONE },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	add(&f, PLAN_DELETE, POD "a-1" OF_GROUP "a\"},\"uid\":\"u1\"}}");
	add(&f, PLAN_DELETE, POD "a-2" OF_GROUP "a\"},\"uid\":\"u2\"}}");
	run(&f);
	assert_int_equal(f.execution.trouble.code, 0);
	assert_int_equal(f.answers, 2);
	stop(&f);
}

static void a_replica_that_may_not_write_any_more_starts_nothing(void **state)
{
	struct fixture f = { 0 };
	(void)state;

	start(&f, NULL, 0);
	f.allowed = false;
	add(&f, PLAN_EVENT, EVENT);
	add(&f, PLAN_CREATE, SERVICE);
	run(&f);
	assert_int_equal(f.execution.at, 0);
	stop(&f);
}

static void what_is_believed_needs_no_write(void **state)
{
	struct fixture f = { 0 };
	struct known_cluster *known;
	(void)state;

	start(&f, NULL, 0);
	add(&f, PLAN_BELIEVE, SERVICE);
	run(&f);
	known = known_state_of_cluster(&f.known, "ns/demo");
	assert_int_equal(known->applied.n, 1);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_goes_to_the_event_recorder_and_keeps_no_write_waiting),
		cmocka_unit_test(
			an_object_that_is_taken_is_believed_for_as_long_as_its_cluster_is_old),
		cmocka_unit_test(a_farewell_that_finds_a_name_taken_looks_again_when_it_planned_to),
		cmocka_unit_test(
			a_name_that_is_taken_by_an_object_which_is_being_deleted_is_tried_again_in_a_minute),
		cmocka_unit_test(an_event_behind_a_write_that_fails_is_not_emitted),
		cmocka_unit_test(a_group_that_is_refused_leaves_the_others_their_pods),
		cmocka_unit_test(a_pod_that_is_refused_with_its_sidecar_is_tried_once_without_it),
		cmocka_unit_test(a_pod_whose_creation_got_no_clear_answer_must_be_asked_for),
		cmocka_unit_test(what_is_gone_already_is_deleted_well),
		cmocka_unit_test(a_replica_that_may_not_write_any_more_starts_nothing),
		cmocka_unit_test(what_is_believed_needs_no_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
