/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of events and their series, against a server that answers from a script. */
#include "operator/kube/events.h"

#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COLLECTION "/apis/events.k8s.io/v1/namespaces/ns/events"
#define EXISTS "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\"}"

struct outcome {
	bool done;
	int status;
};

static void keep(void *arg, struct client_response *response)
{
	struct outcome *o = arg;

	assert_false(o->done);
	o->done = true;
	o->status = response->status;
}

static cJSON *event(void)
{
	cJSON *e = cJSON_Parse(
		"{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"namespace\":\"ns\","
		"\"name\":\"x.1\"},\"eventTime\":\"2026-11-21T01:00:00.000000Z\",\"reason\":\"R\"}");

	assert_non_null(e);
	return e;
}

/* Returns the bodies that were sent. */
static struct strbuf tell(const struct exchange *script, size_t n, int status)
{
	struct fake_server server;
	struct outcome o = { 0 };
	struct err err = { 0 };
	_cleanup_json_ cJSON *e = event();
	struct strbuf bodies = STRBUF_INIT(65536);

	fake_server_start(&server, script, n);
	struct client *client = fake_client(&server, NULL);
	assert_int_equal(client_event(client, e, false, keep, &o, &err), 0);
	turn_until(server.base, &o.done);
	assert_int_equal(o.status, status);
	assert_int_equal(server.at, n);
	strbuf_adds(&bodies, strbuf_str(&server.bodies));
	client_free(client);
	fake_server_stop(&server);
	return bodies;
}

static void a_new_event_is_one_request(void **state)
{
	static const struct exchange script[] = { { "POST", COLLECTION "?fieldManager=afterglow",
						    201, "{}" } };

	(void)state;

	_cleanup_strbuf_ struct strbuf bodies = tell(script, ARRAY_SIZE(script), 201);
	assert_non_null(strstr(strbuf_str(&bodies), "\"reason\":\"R\""));
}

static void the_second_begins_a_series_and_the_next_are_counted(void **state)
{
	static const struct {
		const char *before, *patch;
	} rows[] = {
		{ "{\"reason\":\"R\"}", "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-11-21T01:00:00.000000Z\"}}" },
		{ "{\"series\":{\"count\":7}}", "{\"series\":{\"count\":8,\"lastObservedTime\":\"2026-11-21T01:00:00.000000Z\"}}" },
		{ "{\"series\":{\"count\":-7}}", "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-11-21T01:00:00.000000Z\"}}" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct exchange script[] = {
			{ "POST", COLLECTION, 409, EXISTS },
			{ "GET", COLLECTION "/x.1", 200, rows[i].before },
			{ "PATCH", COLLECTION "/x.1", 200, "{}" },
		};
		_cleanup_strbuf_ struct strbuf bodies = tell(script, ARRAY_SIZE(script), 200);
		assert_non_null(strstr(strbuf_str(&bodies), rows[i].patch));
	}
}

static void what_fails_is_passed_on(void **state)
{
	static const struct exchange refused[] = { { "POST", COLLECTION, 403, "{}" } };
	static const struct exchange conflict[] = { { "POST", COLLECTION, 409,
						      "{\"reason\":\"Conflict\"}" } };
	static const struct exchange gone[] = { { "POST", COLLECTION, 409, EXISTS },
						{ "GET", "/x.1", 404, "{}" } };

	(void)state;

	strbuf_release(&(struct strbuf[]){ tell(refused, 1, 403) }[0]);
	strbuf_release(&(struct strbuf[]){ tell(conflict, 1, 409) }[0]);
	strbuf_release(&(struct strbuf[]){ tell(gone, 2, 404) }[0]);
}

/* The address sanitizer checks that nothing is left. */
static void a_client_that_goes_away_takes_its_reports_along(void **state)
{
	struct fake_server server;
	struct outcome o = { 0 };
	_cleanup_json_ cJSON *e = event();

	(void)state;

	fake_server_start(&server, NULL, 0);
	struct client *client = fake_client(&server, NULL);
	assert_int_equal(client_event(client, e, false, keep, &o, NULL), 0);
	client_free(client);
	assert_false(o.done);
	fake_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_event_is_one_request),
		cmocka_unit_test(the_second_begins_a_series_and_the_next_are_counted),
		cmocka_unit_test(what_fails_is_passed_on),
		cmocka_unit_test(a_client_that_goes_away_takes_its_reports_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
