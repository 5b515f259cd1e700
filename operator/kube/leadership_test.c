/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of leader election on a thread of its own: a main loop that stands still neither loses the
 * Lease at once nor keeps it for ever. The server runs on a thread, too, because it has to answer
 * while the main loop does not turn.
 */
#include "operator/kube/leadership.h"

#include "operator/kube/testing.h"

#include <pthread.h>
#include <stdatomic.h>

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COLLECTION "/apis/coordination.k8s.io/v1/namespaces/ops/leases"
#define LEASE(holder, rv) \
	"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"namespace\":\"ops\"," \
	"\"name\":\"op\",\"resourceVersion\":\"" rv "\"},\"spec\":{\"holderIdentity\":\"" holder \
	"\",\"leaseDurationSeconds\":15," \
	"\"acquireTime\":\"2026-11-21T01:00:00.000000Z\",\"renewTime\":\"2026-11-21T01:00:00.000000Z\",\"leaseTransitions\":3}}"
#define STATUS(code, reason) \
	"{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"m\"}"
#define ACQUISITION \
	{ "GET", COLLECTION "/op", 404, STATUS("404", "NotFound") }, \
	{ \
		"POST", COLLECTION, 201, LEASE("we", "5") \
	}

struct bed {
	struct fake_server server;
	pthread_t server_thread;
	atomic_bool server_ends;
	atomic_size_t answered;
	struct event_base *base; /* the main loop */
	struct leadership *leadership;
	bool acquired, lost, done, troubled;
	int requests;
	char why[256];
};

static void on_acquired(void *arg)
{
	((struct bed *)arg)->acquired = true;
}

static void on_lost(void *arg, const char *why)
{
	struct bed *bed = arg;

	bed->lost = true;
	snprintf(bed->why, sizeof(bed->why), "%s", why);
}

static void on_trouble(void *arg, const struct err *err)
{
	struct bed *bed = arg;

	bed->troubled = err && strstr(err_text(err), "403 Forbidden");
}

static void on_credentials(void *arg, const struct err *err)
{
	(void)arg;
	fail_msg("%s", err_text(err));
}

static void on_request(void *arg, const char *method, int code)
{
	struct bed *bed = arg;

	assert_true(*method && code);
	bed->requests++;
}

static void on_done(void *arg)
{
	((struct bed *)arg)->done = true;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct bed *bed = arg;

	(void)fd;
	(void)what;
	atomic_store(&bed->answered, bed->server.at);
	if (atomic_load(&bed->server_ends))
		event_base_loopbreak(bed->server.base);
}

static void *serve(void *arg)
{
	struct bed *bed = arg;
	struct event *tick = event_new(bed->server.base, -1, EV_PERSIST, on_tick, bed);

	event_add(tick, &(struct timeval){ .tv_usec = 5000 });
	while (!atomic_load(&bed->server_ends)) /* the server's loop ends when its script is over */
		event_base_dispatch(bed->server.base);
	event_free(tick);
	return NULL;
}

static void bed_start(struct bed *bed, const struct exchange *script, size_t n, int64_t silence_ns)
{
	struct leadership_options options = { .namespace = "ops",
					      .name = "op",
					      .silence_ns = silence_ns,
					      .on_acquired = on_acquired,
					      .on_lost = on_lost,
					      .on_trouble = on_trouble,
					      .on_credentials = on_credentials,
					      .on_request = on_request,
					      .arg = bed };
	struct err err = { 0 };

	*bed = (struct bed){ 0 };
	fake_server_start(&bed->server, script, n);
	assert_int_equal(pthread_create(&bed->server_thread, NULL, serve, bed), 0);
	bed->base = event_base_new();
	event_base_priority_init(bed->base, 2);
	options.base = bed->base;
	struct kubeconfig config = { .server = strdup(bed->server.url),
				     .namespace = strdup("default") };
	config.token_read_ns = config.files_read_ns = INT64_MAX / 2;
	assert_int_equal(leadership_new(&options, &config, &bed->leadership, &err), 0);
	assert_false(leadership_is_held(bed->leadership));
	assert_int_equal(leadership_start(bed->leadership, &err), 0);
}

static void bed_stop(struct bed *bed)
{
	leadership_free(bed->leadership);
	atomic_store(&bed->server_ends, true);
	pthread_join(bed->server_thread, NULL);
	fake_server_stop(&bed->server);
	event_base_free(bed->base);
}

/* Waits without turning the main loop. */
static void stand_still_until(bool (*is_so)(struct bed *bed), struct bed *bed)
{
	for (int i = 0; i < 6000 && !is_so(bed); i++)
		usleep(5000);
	assert_true(is_so(bed));
}

static bool is_renewed_twice(struct bed *bed)
{
	return atomic_load(&bed->answered) >= 4;
}

static bool is_lost(struct bed *bed)
{
	return !leadership_is_held(bed->leadership);
}

static void while_the_main_loop_stands_still_the_lease_is_renewed(void **state)
{
	static const struct exchange script[] = {
		ACQUISITION,
		{ "PUT", COLLECTION "/op", 200, LEASE("we", "6") },
		{ "PUT", COLLECTION "/op", 200, LEASE("we", "7") },
		{ "PUT", COLLECTION "/op", 200, LEASE("", "8") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 0);
	stand_still_until(is_renewed_twice, &bed);
	assert_true(leadership_is_held(bed.leadership));
	assert_false(leadership_is_overdue(bed.leadership));
	assert_false(bed.acquired); /* the main loop has not received anything yet */
	turn_until(bed.base, &bed.acquired);
	assert_string_equal(leadership_holder(bed.leadership), "we");
	leadership_stop(bed.leadership, on_done, &bed);
	turn_until(bed.base, &bed.done);
	assert_false(leadership_is_held(bed.leadership));
	assert_true(bed.requests >= 4);
	assert_false(bed.lost);
	bed_stop(&bed);
}

static void a_main_loop_that_does_not_come_back_gives_the_lease_up(void **state)
{
	static const struct exchange script[] = { ACQUISITION };
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 1);
	turn_until(bed.base, &bed.acquired);
	stand_still_until(is_lost, &bed);
	assert_false(leadership_is_overdue(bed.leadership));
	turn_until(bed.base, &bed.lost);
	assert_non_null(strstr(bed.why, "the main loop did not turn"));
	bed_stop(&bed);
}

static void who_stands_still_while_the_lease_is_taken_does_not_hold_it_before_hearing_of_it(void **state)
{
	static const struct exchange script[] = {
		ACQUISITION,
		{ "PUT", COLLECTION "/op", 409, STATUS("409", "Conflict") },
		{ "GET", COLLECTION "/op", 200, LEASE("usurper", "7") },
	};
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 0);
	turn_until(bed.base, &bed.acquired);
	stand_still_until(is_lost, &bed);
	assert_false(bed.lost);
	turn_until(bed.base, &bed.lost);
	assert_string_equal(bed.why, "another replica acts or may");
	bed_stop(&bed);
}

static void trouble_is_passed_on_and_an_end_in_the_middle_is_clean(void **state)
{
	static const struct exchange script[] = { { "GET", COLLECTION "/op", 403,
						    STATUS("403", "Forbidden") } };
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 0);
	turn_until(bed.base, &bed.troubled);
	bed_stop(&bed);
}

static void who_gives_back_what_is_not_held_need_not_wait(void **state)
{
	static const struct exchange script[] = { { "GET", COLLECTION "/op", 200,
						    LEASE("other", "7") } };
	struct bed bed;
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 0);
	leadership_stop(bed.leadership, on_done, &bed);
	turn_until(bed.base, &bed.done);
	assert_false(bed.acquired || bed.lost);
	bed_stop(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_the_main_loop_stands_still_the_lease_is_renewed),
		cmocka_unit_test(a_main_loop_that_does_not_come_back_gives_the_lease_up),
		cmocka_unit_test(
			who_stands_still_while_the_lease_is_taken_does_not_hold_it_before_hearing_of_it),
		cmocka_unit_test(trouble_is_passed_on_and_an_end_in_the_middle_is_clean),
		cmocka_unit_test(who_gives_back_what_is_not_held_need_not_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
