/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of list and watch as tables of events, under a fake clock. */
#include "operator/cache/reflector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

/* A row sets only the members that matter to it. The others are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define S NS_PER_SEC

/* One event at a time of the fake clock, and the step that must follow. */
struct row {
	int64_t after_ns; /* since the previous row */
	struct reflector_event event;
	enum reflector_action action;
	bool swap;
	const char *rv; /* of the reflector afterwards; NULL: not checked */
	int64_t least_ns, below_ns; /* bounds of a wait */
};

#define START { .kind = REFLECTOR_START }
#define TIMER { .kind = REFLECTOR_TIMER }
#define PAGE(v, t) { .kind = REFLECTOR_PAGE_READ, .rv = (v), .token = (t) }
#define LIST_FAILED(s) { .kind = REFLECTOR_LIST_FAILED, .status = (s) }
#define INITIAL_END(v) { .kind = REFLECTOR_INITIAL_END, .rv = (v) }
#define OBJECT(v) { .kind = REFLECTOR_OBJECT, .rv = (v) }
#define REFUSED(s, after) { .kind = REFLECTOR_WATCH_REFUSED, .status = (s), .retry_after_ns = (after) }
#define ERROR_EVENT(s) { .kind = REFLECTOR_WATCH_ERROR, .status = (s) }
#define GARBAGE { .kind = REFLECTOR_WATCH_GARBAGE }
#define ENDED { .kind = REFLECTOR_WATCH_ENDED }

/* Stands for a server that supports only lists. */
static void init_lists(struct reflector *r, uint64_t seed)
{
	reflector_init(r, seed);
	r->no_streams = true;
}

static void run_from(struct reflector *r, const struct row *rows, size_t n)
{
	int64_t now = 1000 * S;

	for (size_t i = 0; i < n; i++) {
		now += rows[i].after_ns;
		struct reflector_step step = reflector_step(r, &rows[i].event, now);
		if (step.action != rows[i].action || step.swap != rows[i].swap)
			fail_msg("row %zu: action %d swap %d", i, (int)step.action, step.swap);
		if (rows[i].rv && strcmp(r->rv, rows[i].rv) != 0)
			fail_msg("row %zu: rv %s", i, r->rv);
		if (step.action == REFLECTOR_WAIT) {
			if (step.delay_ns < rows[i].least_ns || step.delay_ns >= rows[i].below_ns)
				fail_msg("row %zu: waits %lld ms", i,
					 (long long)(step.delay_ns / NS_PER_MS));
			now += step.delay_ns;
		}
		if (step.action == REFLECTOR_WATCH || step.action == REFLECTOR_STREAM)
			assert_true(step.timeout_s >= 150 && step.timeout_s <= 220);
	}
}
#define RUN(r, rows) (init_lists(r, 12345), run_from(r, rows, ARRAY_SIZE(rows)))
#define RUN_STREAMS(r, rows) (reflector_init(r, 12345), run_from(r, rows, ARRAY_SIZE(rows)))

static void pages_are_read_to_the_end_swapped_and_watched_from_their_version(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", "t1"), REFLECTOR_LIST },
		{ S, PAGE("100", "t2"), REFLECTOR_LIST },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true, "100" },
		{ S, OBJECT("101"), REFLECTOR_GO_ON, false, "101" },
		{ S, OBJECT("105"), REFLECTOR_GO_ON, false, "105" },
		{ S, OBJECT(NULL), REFLECTOR_GO_ON, false, "105" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
	assert_true(r.synced);
	assert_int_equal(r.lists, 1);
}

static void a_clean_end_is_followed_by_a_watch_from_the_last_version_at_once(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", ""), REFLECTOR_WATCH, true, "100" },
		{ 200 * S, ENDED, REFLECTOR_WATCH, false, "100" },
		{ S / 2, OBJECT("120"), REFLECTOR_GO_ON, false, "120" },
		{ 0, ENDED, REFLECTOR_WATCH, false, "120" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
	assert_int_equal(r.lists, 1);
}

static void a_410_lists_once_at_once_by_http_and_in_the_stream(void **state)
{
	static const struct reflector_event gone[] = { REFUSED(410, 0), ERROR_EVENT(410) };
	struct reflector r;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		const struct row rows[] = {
			{ 0, START, REFLECTOR_LIST },
			{ S, PAGE("100", NULL), REFLECTOR_WATCH, true },
			{ 300 * S, gone[i], REFLECTOR_LIST, false, "" },
			{ S, PAGE("500", NULL), REFLECTOR_WATCH, true, "500" },
			{ 0, gone[i], REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
			{ 0, TIMER, REFLECTOR_LIST },
			{ S, PAGE("600", NULL), REFLECTOR_WATCH, true, "600" },
			{ 5 * S, OBJECT("601"), REFLECTOR_GO_ON },
			{ 0, gone[i], REFLECTOR_LIST, false, "" },
		};
		RUN(&r, rows);
		assert_true(r.synced); /* the old store is still served */
	}
}

static void a_429_and_refused_connections_wait_and_keep_the_version(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true },
		{ 0, REFUSED(429, 7 * S), REFLECTOR_WAIT, false, "100", 7 * S, 7 * S + 1 },
		{ 0, TIMER, REFLECTOR_WATCH, false, "100" },
		{ 0, REFUSED(0, 0), REFLECTOR_WAIT, false, "100", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH, false, "100" },
		{ 0, REFUSED(503, 0), REFLECTOR_WAIT, false, "100", 3200 * NS_PER_MS, 6400 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH, false, "100" },
		{ 0, ERROR_EVENT(429), REFLECTOR_WAIT, false, "100", 6400 * NS_PER_MS, 12800 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH, false, "100" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
	assert_int_equal(r.lists, 1);
}

static void a_restart_of_the_api_server_costs_no_list(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true },
		{ 30 * S, OBJECT("140"), REFLECTOR_GO_ON },
		{ S, ENDED, REFLECTOR_WATCH, false, "140" }, /* the connection was reset */
		{ 0, REFUSED(0, 0), REFLECTOR_WAIT, false, "140", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH },
		{ 0, REFUSED(0, 0), REFLECTOR_WAIT, false, "140", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH },
		{ 0, REFUSED(503, 0), REFLECTOR_WAIT, false, "140", 3200 * NS_PER_MS, 6400 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH, false, "140" },
		{ S, OBJECT("141"), REFLECTOR_GO_ON, false, "141" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
	assert_int_equal(r.lists, 1);
	assert_int_equal(r.last_status, 0);
}

/*
 * The server's watch cache begins with the version of its start, so earlier versions are gone (seen
 * with 1.34).
 */
static void a_410_after_refused_connections_lists_at_once(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true },
		{ S, REFUSED(0, 0), REFLECTOR_WAIT, false, "100", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH },
		{ 0, REFUSED(503, 0), REFLECTOR_WAIT, false, "100", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_WATCH },
		{ 0, ERROR_EVENT(410), REFLECTOR_LIST, false, "" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
}

static void a_poke_ends_the_wait_for_a_server_that_was_away_and_no_other(void **state)
{
	struct reflector r;
	struct reflector_event start = START, page = PAGE("5", NULL),
			       poke = { .kind = REFLECTOR_POKE };
	static const struct {
		int status;
		enum reflector_action action;
	} rows[] = { { 0, REFLECTOR_WATCH },
		     { 503, REFLECTOR_WATCH },
		     { 429, REFLECTOR_GO_ON },
		     { 403, REFLECTOR_GO_ON } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reflector_event refused = REFUSED(rows[i].status, 0);
		init_lists(&r, 7);
		reflector_step(&r, &start, 0);
		assert_int_equal(reflector_step(&r, &poke, 0).action, REFLECTOR_GO_ON);
		reflector_step(&r, &page, 0);
		assert_int_equal(reflector_step(&r, &poke, 0).action, REFLECTOR_GO_ON);
		assert_int_equal(reflector_step(&r, &refused, 0).action, REFLECTOR_WAIT);
		assert_int_equal(reflector_step(&r, &poke, 0).action, rows[i].action);
	}
}

static void expired_pages_lead_to_one_list_without_a_limit(void **state)
{
	struct reflector r;
	struct reflector_event start = START, page = PAGE("100", "t1"), failed = LIST_FAILED(410),
			       last = PAGE("200", NULL);
	(void)state;

	init_lists(&r, 1);
	assert_false(reflector_step(&r, &start, 0).unlimited);
	assert_int_equal(reflector_step(&r, &page, 0).action, REFLECTOR_LIST);
	assert_string_equal(r.token, "t1");
	struct reflector_step step = reflector_step(&r, &failed, 0);
	assert_int_equal(step.action, REFLECTOR_LIST);
	assert_true(step.unlimited);
	assert_string_equal(r.token, "");
	assert_int_equal(reflector_step(&r, &failed, 0).action, REFLECTOR_WAIT);
	struct reflector_event timer = TIMER;
	assert_int_equal(reflector_step(&r, &timer, 0).action, REFLECTOR_LIST);
	assert_true(reflector_step(&r, &last, 0).swap);
}

static void an_absent_kind_is_asked_for_again_less_and_less_often(void **state)
{
	struct reflector r;
	struct reflector_event start = START, failed = LIST_FAILED(404), timer = TIMER;
	int64_t now = 0;
	int requests = 1;
	(void)state;

	init_lists(&r, 99);
	reflector_step(&r, &start, now);
	while (now < 3600 * S) {
		struct reflector_step step = reflector_step(&r, &failed, now);
		assert_int_equal(step.action, REFLECTOR_WAIT);
		assert_int_equal(r.last_status, 404);
		now += step.delay_ns;
		assert_int_equal(reflector_step(&r, &timer, now).action, REFLECTOR_LIST);
		requests++;
	}
	assert_false(r.synced);
	assert_in_range(requests, 60, 130);
}

static void a_watch_that_closes_at_once_a_hundred_times_is_opened_less_and_less_often(void **state)
{
	struct reflector r;
	struct reflector_event start = START, page = PAGE("5", NULL), ended = ENDED, timer = TIMER;
	int64_t now = 0, last = 0;
	(void)state;

	init_lists(&r, 7);
	reflector_step(&r, &start, now);
	reflector_step(&r, &page, now);
	for (int i = 0; i < 100; i++) {
		struct reflector_step step = reflector_step(&r, &ended, now);
		assert_int_equal(step.action, REFLECTOR_WAIT);
		last = step.delay_ns;
		now += last;
		assert_int_equal(reflector_step(&r, &timer, now).action, REFLECTOR_WATCH);
	}
	assert_true(last >= 30 * S);
	assert_int_equal(r.lists, 1);
}

static void garbage_and_unknown_errors_list_again(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true },
		{ S, GARBAGE, REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
		{ S, PAGE("200", NULL), REFLECTOR_WATCH, true },
		{ S, ERROR_EVENT(400), REFLECTOR_WAIT, false, "", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
		{ S, PAGE("300", NULL), REFLECTOR_WATCH, true },
		{ 0, REFUSED(403, 0), REFLECTOR_WAIT, false, "", 3200 * NS_PER_MS, 6400 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
}

static void errors_500_in_the_stream_are_borne_five_times(void **state)
{
	struct reflector r;
	struct reflector_event start = START, page = PAGE("5", NULL), error = ERROR_EVENT(500),
			       timer = TIMER;
	(void)state;

	init_lists(&r, 7);
	reflector_step(&r, &start, 0);
	reflector_step(&r, &page, 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(reflector_step(&r, &error, 0).action, REFLECTOR_WAIT);
		assert_int_equal(reflector_step(&r, &timer, 0).action, REFLECTOR_WATCH);
	}
	assert_int_equal(reflector_step(&r, &error, 0).action, REFLECTOR_WAIT);
	assert_int_equal(reflector_step(&r, &timer, 0).action, REFLECTOR_LIST);
}

static void a_list_without_a_version_is_not_believed(void **state)
{
	char rv[REFLECTOR_RV_MAX + 8];
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ 0, PAGE(NULL, NULL), REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
	};
	struct reflector r;
	struct reflector_event page = PAGE(rv, NULL);
	(void)state;

	RUN(&r, rows);
	memset(rv, '9', sizeof(rv));
	rv[sizeof(rv) - 1] = '\0';
	assert_int_equal(reflector_step(&r, &page, 0).action, REFLECTOR_WAIT);
	assert_false(r.synced);
}

static void late_events_of_a_dropped_request_mean_nothing(void **state)
{
	static const struct row rows[] = {
		{ 0, TIMER, REFLECTOR_GO_ON },
		{ 0, START, REFLECTOR_LIST },
		{ 0, ENDED, REFLECTOR_GO_ON },
		{ 0, OBJECT("7"), REFLECTOR_GO_ON, false, "" },
		{ 0, PAGE("100", NULL), REFLECTOR_WATCH, true, "100" },
		{ 0, PAGE("90", NULL), REFLECTOR_GO_ON, false, "100" },
		{ 0, LIST_FAILED(500), REFLECTOR_GO_ON, false, "100" },
		{ 0, TIMER, REFLECTOR_GO_ON, false, "100" },
	};
	struct reflector r;
	(void)state;

	RUN(&r, rows);
}

static void a_fresh_list_can_be_asked_for_and_unsyncs_until_it_is_there(void **state)
{
	struct reflector r;
	struct reflector_event start = START, page = PAGE("5", NULL);
	(void)state;

	init_lists(&r, 7);
	reflector_step(&r, &start, 0);
	reflector_step(&r, &page, 0);
	assert_true(r.synced);
	assert_int_equal(reflector_step(&r, &start, 0).action, REFLECTOR_LIST);
	assert_false(r.synced);
	assert_true(reflector_step(&r, &page, 0).swap);
	assert_true(r.synced);
}

/* The CRD was deleted, or we may not read it any more. What we hold is no basis for writing. */
static void a_kind_that_is_gone_or_forbidden_is_not_synced_until_it_is_listed_again(void **state)
{
	struct reflector_event start = START, page = PAGE("1", NULL), refused = REFUSED(404, 0),
			       timer = TIMER;
	static const int statuses[] = { 403, 404 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct reflector_event failed = LIST_FAILED(statuses[i]), busy = LIST_FAILED(500);
		struct reflector r;
		init_lists(&r, 7);
		reflector_step(&r, &start, 0);
		reflector_step(&r, &page, 0);
		reflector_step(&r, &refused, 0);
		reflector_step(&r, &timer, 0);
		reflector_step(&r, &busy, 0);
		/* The server has trouble: the copy is old, but it was true. */
		assert_true(r.synced);
		reflector_step(&r, &timer, 0);
		reflector_step(&r, &failed, 0);
		assert_false(r.synced);
		reflector_step(&r, &timer, 0);
		assert_true(reflector_step(&r, &page, 0).swap);
		assert_true(r.synced);
	}
}

/* --- Streams --- */

static void a_stream_is_a_list_that_goes_on_as_a_watch(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_STREAM },
		/* The versions come in no order, so none is noted. */
		{ S, OBJECT("90"), REFLECTOR_GO_ON, false, "" },
		{ S, OBJECT("7"), REFLECTOR_GO_ON, false, "" },
		{ S, INITIAL_END("100"), REFLECTOR_GO_ON, true, "100" },
		{ S, OBJECT("101"), REFLECTOR_GO_ON, false, "101" },
		{ 150 * S, ENDED, REFLECTOR_WATCH, false, "101" },
		/* Initial events do not come again, unless the version is gone. */
		{ S, OBJECT("102"), REFLECTOR_GO_ON, false, "102" },
		{ S, ERROR_EVENT(410), REFLECTOR_STREAM, false, "" },
		{ S, INITIAL_END("200"), REFLECTOR_GO_ON, true, "200" },
	};
	struct reflector r;
	(void)state;

	RUN_STREAMS(&r, rows);
	assert_true(r.synced);
	assert_int_equal(r.lists, 2);
}

static void a_server_that_knows_no_streams_is_asked_once(void **state)
{
	static const int statuses[] = { 400, 405, 406, 415, 422 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		const struct row rows[] = {
			{ 0, START, REFLECTOR_STREAM },
			{ 0, REFUSED(statuses[i], 0), REFLECTOR_LIST },
			{ S, PAGE("10", NULL), REFLECTOR_WATCH, true, "10" },
			{ S, OBJECT("11"), REFLECTOR_GO_ON },
			{ S, ERROR_EVENT(410), REFLECTOR_LIST, false, "" },
		};
		struct reflector r;
		RUN_STREAMS(&r, rows);
	}
}

static void another_refusal_is_followed_by_a_list_this_once(void **state)
{
	static const int statuses[] = { 403, 404, 410, 500, 503, 504 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		const struct row rows[] = {
			{ 0, START, REFLECTOR_STREAM },
			{ 0, REFUSED(statuses[i], 0), REFLECTOR_LIST },
			{ 0, LIST_FAILED(statuses[i]), REFLECTOR_WAIT, false, NULL, 800 * NS_PER_MS, 1600 * NS_PER_MS },
			{ 0, TIMER, REFLECTOR_STREAM },
		};
		struct reflector r;
		RUN_STREAMS(&r, rows);
	}
}

static void pages_come_first_where_they_are_preferred_and_a_stream_when_the_version_is_gone(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, LIST_FAILED(500), REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
		{ S, PAGE("100", "t1"), REFLECTOR_LIST, false, "" },
		{ S, PAGE("100", NULL), REFLECTOR_WATCH, true, "100" },
		/*
		 * The list took so long that its version is gone. A stream cannot have this
		 * problem.
		 */
		{ S, REFUSED(410, 0), REFLECTOR_STREAM, false, "" },
		{ S, INITIAL_END("200"), REFLECTOR_GO_ON, true, "200" },
		{ S, ERROR_EVENT(410), REFLECTOR_WAIT, false, "", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
		{ S, INITIAL_END("300"), REFLECTOR_GO_ON, true, "300" },
		{ S, OBJECT("301"), REFLECTOR_GO_ON, false, "301" },
		/* It has worked since then. */
		{ S, START, REFLECTOR_LIST },
		{ S, PAGE("400", NULL), REFLECTOR_WATCH, true, "400" },
	};
	struct reflector r;
	(void)state;

	reflector_init(&r, 12345);
	r.prefers_pages = true;
	run_from(&r, rows, ARRAY_SIZE(rows));
	assert_true(r.synced);
}

static void pages_that_expire_or_fail_again_and_again_are_given_up_for_a_stream(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", "t1"), REFLECTOR_LIST, false, "" },
		{ S, LIST_FAILED(410), REFLECTOR_STREAM },
		{ S, INITIAL_END("200"), REFLECTOR_GO_ON, true, "200" },
		{ S, OBJECT("201"), REFLECTOR_GO_ON, false, "201" },
		{ S, START, REFLECTOR_LIST },
		{ S, PAGE("300", "t1"), REFLECTOR_LIST },
		{ S, LIST_FAILED(500), REFLECTOR_WAIT, false, NULL, 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
		{ S, LIST_FAILED(500), REFLECTOR_WAIT, false, NULL, 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
		{ S, INITIAL_END("400"), REFLECTOR_GO_ON, true, "400" },
		{ S, START, REFLECTOR_LIST },
	};
	struct reflector r;
	(void)state;

	reflector_init(&r, 12345);
	r.prefers_pages = true;
	run_from(&r, rows, ARRAY_SIZE(rows));
}

static void a_list_in_one_piece_is_the_last_such(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_LIST },
		{ S, PAGE("100", "t1"), REFLECTOR_LIST },
		{ S, LIST_FAILED(410), REFLECTOR_LIST },
		{ S, PAGE("200", NULL), REFLECTOR_WATCH, true, "200" },
		{ S, GARBAGE, REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
	};
	struct reflector r;
	(void)state;

	reflector_init(&r, 12345);
	r.no_streams = true;
	run_from(&r, rows, ARRAY_SIZE(rows));
	assert_false(r.unlimited);
}

static void without_a_connection_or_with_429_a_stream_waits_and_is_tried_again(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_STREAM },
		{ 0, REFUSED(0, 0), REFLECTOR_WAIT, false, NULL, 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
		{ 0, REFUSED(429, 7 * S), REFLECTOR_WAIT, false, NULL, 7 * S, 7 * S + 1 },
		{ 0, TIMER, REFLECTOR_STREAM },
		{ 0, REFUSED(401, 0), REFLECTOR_WAIT, false, NULL, 3200 * NS_PER_MS, 6400 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
	};
	struct reflector r;
	(void)state;

	RUN_STREAMS(&r, rows);
	assert_false(r.synced);
}

static void a_stream_that_breaks_off_leaves_the_copy_alone_and_the_third_is_a_list(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_STREAM },
		{ S, INITIAL_END("10"), REFLECTOR_GO_ON, true },
		{ S, OBJECT("11"), REFLECTOR_GO_ON },
		{ S, REFUSED(410, 0), REFLECTOR_STREAM },
		{ S, OBJECT("5"), REFLECTOR_GO_ON, false, "" },
		{ S, ENDED, REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
		{ S, GARBAGE, REFLECTOR_WAIT, false, "", 1600 * NS_PER_MS, 3200 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_LIST },
		{ S, PAGE("20", NULL), REFLECTOR_WATCH, true, "20" },
		{ S, OBJECT("21"), REFLECTOR_GO_ON },
		{ S, ERROR_EVENT(410), REFLECTOR_STREAM },
	};
	struct reflector r;
	(void)state;

	RUN_STREAMS(&r, rows);
	assert_true(r.synced); /* the old copy is still served */
}

static void a_version_that_is_gone_again_and_again_is_asked_for_ever_more_slowly(void **state)
{
	struct reflector r;
	struct reflector_event start = START, end = INITIAL_END("10"), gone = ERROR_EVENT(410),
			       timer = TIMER;
	int64_t now = S, waited = 0;
	(void)state;

	reflector_init(&r, 7);
	reflector_step(&r, &start, now);
	for (int i = 0; i < 100; i++) {
		reflector_step(&r, &end, now);
		struct reflector_step step = reflector_step(&r, &gone, now);
		if (step.action == REFLECTOR_WAIT) {
			waited = step.delay_ns;
			now += waited;
			step = reflector_step(&r, &timer, now);
		}
		assert_int_equal(step.action, REFLECTOR_STREAM);
	}
	assert_true(waited >= 30 * S);
}

static void an_end_of_initial_events_without_a_version_is_not_believed(void **state)
{
	static const struct row rows[] = {
		{ 0, START, REFLECTOR_STREAM },
		{ S, INITIAL_END(NULL), REFLECTOR_WAIT, false, "", 800 * NS_PER_MS, 1600 * NS_PER_MS },
		{ 0, TIMER, REFLECTOR_STREAM },
		/* The bookmark of a stream that was requested again does not end a watch. */
		{ S, INITIAL_END("5"), REFLECTOR_GO_ON, true, "5" },
		{ S, INITIAL_END("6"), REFLECTOR_GO_ON, false, "6" },
	};
	struct reflector r;
	(void)state;

	RUN_STREAMS(&r, rows);
}

static void an_hour_without_events_or_bookmarks_costs_no_list(void **state)
{
	struct reflector r;
	struct reflector_event start = START, end = INITIAL_END("10"), ended = ENDED;
	int64_t now = S;
	(void)state;

	reflector_init(&r, 99);
	reflector_step(&r, &start, now);
	reflector_step(&r, &end, now);
	while (now < 3700 * S) {
		now += 150 * S;
		assert_int_equal(reflector_step(&r, &ended, now).action, REFLECTOR_WATCH);
		assert_true(r.synced);
		/* It is silent, but alive, and readiness asks for it. */
		assert_int_equal(r.alive_ns, now);
	}
	assert_int_equal(r.lists, 1);
	assert_string_equal(r.rv, "10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_read_to_the_end_swapped_and_watched_from_their_version),
		cmocka_unit_test(a_clean_end_is_followed_by_a_watch_from_the_last_version_at_once),
		cmocka_unit_test(a_410_lists_once_at_once_by_http_and_in_the_stream),
		cmocka_unit_test(a_429_and_refused_connections_wait_and_keep_the_version),
		cmocka_unit_test(a_restart_of_the_api_server_costs_no_list),
		cmocka_unit_test(a_410_after_refused_connections_lists_at_once),
		cmocka_unit_test(a_poke_ends_the_wait_for_a_server_that_was_away_and_no_other),
		cmocka_unit_test(expired_pages_lead_to_one_list_without_a_limit),
		cmocka_unit_test(an_absent_kind_is_asked_for_again_less_and_less_often),
		cmocka_unit_test(a_watch_that_closes_at_once_a_hundred_times_is_opened_less_and_less_often),
		cmocka_unit_test(garbage_and_unknown_errors_list_again),
		cmocka_unit_test(errors_500_in_the_stream_are_borne_five_times),
		cmocka_unit_test(a_list_without_a_version_is_not_believed),
		cmocka_unit_test(late_events_of_a_dropped_request_mean_nothing),
		cmocka_unit_test(a_fresh_list_can_be_asked_for_and_unsyncs_until_it_is_there),
		cmocka_unit_test(a_kind_that_is_gone_or_forbidden_is_not_synced_until_it_is_listed_again),
		cmocka_unit_test(a_stream_is_a_list_that_goes_on_as_a_watch),
		cmocka_unit_test(a_server_that_knows_no_streams_is_asked_once),
		cmocka_unit_test(another_refusal_is_followed_by_a_list_this_once),
		cmocka_unit_test(pages_come_first_where_they_are_preferred_and_a_stream_when_the_version_is_gone),
		cmocka_unit_test(pages_that_expire_or_fail_again_and_again_are_given_up_for_a_stream),
		cmocka_unit_test(a_list_in_one_piece_is_the_last_such),
		cmocka_unit_test(without_a_connection_or_with_429_a_stream_waits_and_is_tried_again),
		cmocka_unit_test(a_stream_that_breaks_off_leaves_the_copy_alone_and_the_third_is_a_list),
		cmocka_unit_test(a_version_that_is_gone_again_and_again_is_asked_for_ever_more_slowly),
		cmocka_unit_test(an_end_of_initial_events_without_a_version_is_not_believed),
		cmocka_unit_test(an_hour_without_events_or_bookmarks_costs_no_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
