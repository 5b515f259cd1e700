/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which Events are written, and in which order, against a server that answers from a
 * script.
 */
#include "operator/kube/event_recorder.h"

#include "lib/json.h"
#include "lib/units.h"
#include "operator/kube/object.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define IN(namespace) "/apis/events.k8s.io/v1/namespaces/" namespace "/events"
#define EXISTS "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\"}"

static bool allowed;

static bool may_write(void *arg)
{
	(void)arg;
	return allowed;
}

static cJSON *event(const char *namespace, const char *type, const char *reason)
{
	cJSON *e = object_new("events.k8s.io/v1", "Event", namespace, "x.1");

	json_set_str(e, "type", type);
	json_set_str(e, "reason", reason);
	return e;
}

struct fixture {
	struct fake_server server;
	struct client *client;
	struct event_recorder *recorder;
	unsigned interval_ms; /* set before start */
};

static void start(struct fixture *f, const struct exchange *script, size_t n)
{
	struct err err = { 0 };

	allowed = true;
	fake_server_start(&f->server, script, n);
	f->client = fake_client(&f->server, NULL);
	struct event_recorder_options options = { .base = f->server.base,
						  .client = f->client,
						  .may_write = may_write,
						  .interval_ms = f->interval_ms };
	assert_int_equal(event_recorder_new(&options, &f->recorder, &err), 0);
}

static void stop(struct fixture *f)
{
	client_free(f->client);
	event_recorder_free(f->recorder);
	fake_server_stop(&f->server);
}

/* Runs until the script is over, and a little longer to see that nothing else comes. */
static void turn(struct fixture *f)
{
	for (int i = 0; i < 600 && f->server.at < f->server.n; i++) {
		event_base_loopexit(f->server.base, &(struct timeval){ .tv_usec = 50000 });
		event_base_dispatch(f->server.base);
	}
	assert_int_equal(f->server.at, f->server.n);
	event_base_loopexit(f->server.base, &(struct timeval){ .tv_usec = 250000 });
	event_base_dispatch(f->server.base);
}

static void a_warning_goes_before_what_waited_longer(void **state)
{
	static const struct exchange script[] = {
		{ "POST", IN("ns"), 201, "{}" }, { "POST", IN("ns"), 201, "{}" }, { "POST", IN("ns"), 201, "{}" },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	event_recorder_emit(f.recorder, event("ns", "Normal", "First"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, event("ns", "Normal", "Second"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, event("ns", "Warning", "Urgent"), EVENT_COUNTED);
	turn(&f);
	const char *bodies = strbuf_str(&f.server.bodies);
	assert_true(strstr(bodies, "Urgent") < strstr(bodies, "First"));
	assert_true(strstr(bodies, "First") < strstr(bodies, "Second"));
	stop(&f);
}

static void what_is_there_is_counted_or_left_alone(void **state)
{
	static const struct exchange script[] = {
		{ "POST", IN("ns"), 409, EXISTS },
		{ "POST", IN("ns"), 409, EXISTS },
		{ "GET", IN("ns") "/x.1", 200, "{}" },
		{ "PATCH", IN("ns") "/x.1", 200, "{}" },
	};
	struct fixture f = { 0 };
	(void)state;

	start(&f, script, ARRAY_SIZE(script));
	event_recorder_emit(f.recorder, event("ns", "Normal", "R"), EVENT_ONCE);
	event_recorder_emit(f.recorder, event("ns", "Normal", "R"), EVENT_COUNTED);
	turn(&f);
	stop(&f);
}

static void a_namespace_with_many_events_displaces_none_of_another(void **state)
{
	static struct exchange script[EVENT_RECORDER_NAMESPACE_MAX + 1];
	struct fixture f = { .interval_ms = 1 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(script); i++)
		script[i] = (struct exchange){ "POST", "/events", 201, "{}" };
	start(&f, script, ARRAY_SIZE(script));
	for (size_t i = 0; i < EVENT_RECORDER_MAX + 10; i++)
		event_recorder_emit(f.recorder, event("noisy", "Normal", "Noise"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, event("quiet", "Normal", "Word"), EVENT_COUNTED);
	turn(&f);
	assert_non_null(strstr(strbuf_str(&f.server.bodies), "Word"));
	stop(&f);
}

static void neither_many_events_of_another_namespace_nor_its_warnings_go_first(void **state)
{
	static struct exchange script[102];
	struct fixture f = { .interval_ms = 1 };
	size_t before[2] = { 0 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(script); i++)
		script[i] = (struct exchange){ "POST", "/events", 201, "{}" };
	start(&f, script, ARRAY_SIZE(script));
	for (size_t i = 0; i < 100; i++)
		event_recorder_emit(f.recorder, event("noisy", "Warning", "Noise"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, event("quiet", "Warning", "Alarm"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, event("quiet", "Normal", "Word"), EVENT_COUNTED);
	turn(&f);
	const char *bodies = strbuf_str(&f.server.bodies),
		   *words[] = { strstr(bodies, "Alarm"), strstr(bodies, "Word") };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *at = bodies;
		     words[i] && (at = strstr(at, "Noise")) && at < words[i]; at++)
			before[i]++;
	assert_in_range(before[0], 1, 2);
	assert_in_range(before[1], 1, 3);
	stop(&f);
}

static void a_replica_that_may_not_write_emits_nothing(void **state)
{
	struct fixture f = { 0 };
	(void)state;

	start(&f, NULL, 0);
	allowed = false;
	event_recorder_emit(f.recorder, event("ns", "Normal", "R"), EVENT_COUNTED);
	event_recorder_emit(f.recorder, NULL, EVENT_COUNTED);
	turn(&f);
	assert_int_equal(f.server.bodies.len, 0);
	/* Freeing the recorder frees the waiting Event, which the address sanitizer checks. */
	event_recorder_emit(f.recorder, event("ns", "Warning", "R"), EVENT_COUNTED);
	stop(&f);
}

static void a_key_is_emitted_once_in_its_time(void **state)
{
	struct fixture f = { 0 };
	(void)state;

	start(&f, NULL, 0);
	assert_true(event_recorder_is_time(f.recorder, "ns/demo R", 3600 * NS_PER_SEC));
	assert_false(event_recorder_is_time(f.recorder, "ns/demo R", 3600 * NS_PER_SEC));
	assert_true(event_recorder_is_time(f.recorder, "ns/demo S", 3600 * NS_PER_SEC));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_warning_goes_before_what_waited_longer),
		cmocka_unit_test(what_is_there_is_counted_or_left_alone),
		cmocka_unit_test(a_namespace_with_many_events_displaces_none_of_another),
		cmocka_unit_test(
			neither_many_events_of_another_namespace_nor_its_warnings_go_first),
		cmocka_unit_test(a_replica_that_may_not_write_emits_nothing),
		cmocka_unit_test(a_key_is_emitted_once_in_its_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
