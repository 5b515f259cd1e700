/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of leader election with a server that answers from a script. The decisions are tested in
 * lease_test.c; here are the requests and the calls of the callbacks.
 */
#include "operator/kube/elector.h"

#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COLLECTION "/apis/coordination.k8s.io/v1/namespaces/ops/leases"
#define LEASE(holder, rv) "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":\"ops\"," \
	"\"name\":\"op\",\"resourceVersion\":\"" rv "\"},\"spec\":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15," \
	"\"acquireTime\":\"2026-11-21T01:00:00.000000Z\",\"renewTime\":\"2026-11-21T01:00:00.000000Z\",\"leaseTransitions\":3}}"
#define STATUS(code, reason) "{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"m\"}"

struct bed {
	struct fake_server server;
	struct client *client;
	struct elector *elector;
	bool acquired, lost, done, troubled, in_order;
	struct err trouble;
};

static void on_acquired(void *arg)
{
	((struct bed *)arg)->acquired = true;
}

static void on_lost(void *arg)
{
	((struct bed *)arg)->lost = true;
}

static void on_trouble(void *arg, const struct err *err)
{
	struct bed *bed = arg;

	if (err) {
		bed->troubled = true;
		bed->trouble = *err;
	} else {
		bed->in_order = true;
	}
}

static void on_done(void *arg)
{
	((struct bed *)arg)->done = true;
}

static void bed_start(struct bed *bed, const struct exchange *script, size_t n)
{
	struct elector_options options = { .namespace = "ops",
					   .name = "op",
					   .on_acquired = on_acquired,
					   .on_lost = on_lost,
					   .on_trouble = on_trouble,
					   .arg = bed };
	struct err err = { 0 };

	*bed = (struct bed){ 0 };
	fake_server_start(&bed->server, script, n);
	event_base_priority_init(bed->server.base, 2);
	bed->client = fake_client(&bed->server, NULL);
	options.base = bed->server.base;
	options.client = bed->client;
	assert_int_equal(elector_new(&options, &bed->elector, &err), 0);
	assert_false(elector_is_leader(bed->elector));
	elector_start(bed->elector);
}

static void bed_stop(struct bed *bed)
{
	elector_free(bed->elector);
	client_free(bed->client);
	fake_server_stop(&bed->server);
}

static cJSON *body_of(const struct bed *bed, int line)
{
	const char *text = strbuf_str(&bed->server.bodies);
	cJSON *json = NULL;

	while (line-- > 0)
		text = strchr(text, '\n') + 1;
	assert_int_equal(json_parse(text, strcspn(text, "\n"), &json, NULL), 0);
	return json;
}

static void a_lease_that_is_not_there_is_made_and_given_back_at_the_end(void **state)
{
	/*
	 * The server's answers contain the holder. The script knows only the beginning of our
	 * identity.
	 */
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 404, STATUS("404", "NotFound") },
		{ "POST", COLLECTION, 201, LEASE("we", "5") },
		{ "PUT", COLLECTION "/op", 200, LEASE("", "6") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	turn_until(bed.server.base, &bed.acquired);
	assert_true(elector_is_leader(bed.elector));
	_cleanup_json_ cJSON *made = body_of(&bed, 1);
	assert_string_equal(json_str(made, "spec.holderIdentity"), elector_identity(bed.elector));
	assert_int_equal(json_int(made, "spec.leaseDurationSeconds", 0), 15);
	assert_int_equal(json_int(made, "spec.leaseTransitions", -1), 0);
	assert_int_equal(strlen(json_str(made, "spec.renewTime")),
			 strlen("2026-11-21T01:00:00.000000Z"));
	assert_null(json_get(made, "metadata.resourceVersion"));

	elector_stop(bed.elector, on_done, &bed);
	turn_until(bed.server.base, &bed.done);
	_cleanup_json_ cJSON *back = body_of(&bed, 2);
	assert_string_equal(json_str(back, "spec.holderIdentity"), "");
	assert_int_equal(json_int(back, "spec.leaseDurationSeconds", 0), 1);
	assert_string_equal(json_str(back, "metadata.resourceVersion"), "5");
	assert_false(elector_is_leader(bed.elector));
	assert_false(bed.lost);
	bed_stop(&bed);
}

static void a_lease_that_was_given_back_is_taken_over_with_one_more_transition(void **state)
{
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 200, LEASE("", "9") },
		{ "PUT", COLLECTION "/op", 200, LEASE("we", "10") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	turn_until(bed.server.base, &bed.acquired);
	_cleanup_json_ cJSON *taken = body_of(&bed, 1);
	assert_string_equal(json_str(taken, "metadata.resourceVersion"), "9");
	assert_int_equal(json_int(taken, "spec.leaseTransitions", 0), 4);
	assert_string_not_equal(json_str(taken, "spec.acquireTime"), "2026-11-21T01:00:00.000000Z");
	bed_stop(&bed);
}

/* The conflict shows that another replica was faster. The next look finds its name. */
static void who_loses_the_race_waits_and_knows_the_holder(void **state)
{
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 200, LEASE("", "9") },
		{ "PUT", COLLECTION "/op", 409, STATUS("409", "Conflict") },
		{ "GET", COLLECTION "/op", 200, LEASE("other", "11") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	for (int i = 0; i < 2000 && strcmp(elector_holder(bed.elector), "other") != 0; i++) {
		event_base_loopexit(bed.server.base, &(struct timeval){ .tv_usec = 5000 });
		event_base_dispatch(bed.server.base);
	}
	assert_string_equal(elector_holder(bed.elector), "other");
	assert_false(bed.acquired || bed.lost || elector_is_leader(bed.elector));
	/* The Lease is not ours, so there is nothing to give back, and no request follows. */
	elector_stop(bed.elector, on_done, &bed);
	assert_true(bed.done);
	bed_stop(&bed);
}

static void trouble_is_reported_once_until_it_is_over(void **state)
{
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 403, STATUS("403", "Forbidden") },
		{ "GET", COLLECTION "/op", 200, LEASE("other", "11") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	turn_until(bed.server.base, &bed.in_order);
	assert_true(bed.troubled);
	assert_non_null(strstr(err_text(&bed.trouble), "GET " COLLECTION "/op: 403 Forbidden"));
	bed_stop(&bed);
}

static void an_answer_that_is_no_lease_is_no_lease(void **state)
{
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 200, "{\"kind\":\"Lease\",\"metadata\":{}}" },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	turn_until(bed.server.base, &bed.troubled);
	assert_non_null(strstr(err_text(&bed.trouble), "lease ops/op: no Lease in the answer"));
	bed_stop(&bed);
}

/* The renewal finds another holder. */
static void a_leader_learns_at_once_that_its_lease_was_taken(void **state)
{
	static const struct exchange script[] = {
		{ "GET", COLLECTION "/op", 404, STATUS("404", "NotFound") },
		{ "POST", COLLECTION, 201, LEASE("we", "5") },
		{ "PUT", COLLECTION "/op", 409, STATUS("409", "Conflict") },
		{ "GET", COLLECTION "/op", 200, LEASE("usurper", "7") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script));
	turn_until(bed.server.base, &bed.acquired);
	turn_until(bed.server.base, &bed.lost);
	assert_false(elector_is_leader(bed.elector));
	bed_stop(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_that_is_not_there_is_made_and_given_back_at_the_end),
		cmocka_unit_test(a_lease_that_was_given_back_is_taken_over_with_one_more_transition),
		cmocka_unit_test(who_loses_the_race_waits_and_knows_the_holder),
		cmocka_unit_test(trouble_is_reported_once_until_it_is_over),
		cmocka_unit_test(an_answer_that_is_no_lease_is_no_lease),
		cmocka_unit_test(a_leader_learns_at_once_that_its_lease_was_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
