/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of leader election as tables of events, under a fake clock. */
#include "operator/kube/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

/* A row sets only the members that matter to it. The others are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define S NS_PER_SEC
#define ME "me_1"
#define OTHER "other_1"

/* One event at a time of the fake clock, and the step that must follow. */
struct row {
	int64_t after_ns; /* since the previous row */
	enum lease_event_kind kind;
	const char *holder, *rv; /* in the record */
	int64_t transitions;
	int64_t sent_before_ns; /* for WRITTEN: how long before the answer the request was sent */
	enum lease_action action;
	bool held; /* afterwards */
	bool acquired;
	int64_t written_transitions; /* in a CREATE or UPDATE */
	const char *written_rv;
};

static void run(const struct row *rows, size_t n)
{
	int64_t now = 1000 * S;
	struct lease l;

	lease_init(&l, ME, 99);
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		struct lease_record record = { .transitions = row->transitions };
		now += row->after_ns;
		snprintf(record.holder, sizeof(record.holder), "%s",
			 row->holder ? row->holder : "");
		snprintf(record.rv, sizeof(record.rv), "%s", row->rv ? row->rv : "");
		struct lease_event event = { .kind = row->kind,
					     .record = &record,
					     .sent_ns = now - row->sent_before_ns };
		struct lease_step step = lease_step(&l, &event, now);
		if (step.action != row->action || lease_is_held(&l, now) != row->held ||
		    step.acquired != row->acquired)
			fail_msg("row %zu: action %d, held %d, acquired %d", i, (int)step.action,
				 lease_is_held(&l, now), step.acquired);
		if (step.action == LEASE_WAIT && row->held)
			assert_true(step.delay_ns <= LEASE_RETRY_NS && step.delay_ns >= 0);
		if (step.action == LEASE_WAIT && !row->held)
			assert_true(step.delay_ns >= LEASE_RETRY_NS &&
				    step.delay_ns < 4400 * NS_PER_MS);
		if (step.action != LEASE_CREATE && step.action != LEASE_UPDATE)
			continue;
		if (row->written_transitions != step.write.transitions)
			fail_msg("row %zu: transitions %lld", i, (long long)step.write.transitions);
		assert_string_equal(step.write.rv, row->written_rv ? row->written_rv : "");
		assert_string_equal(step.write.holder, row->kind == LEASE_STOP ? "" : ME);
	}
}
#define RUN(rows) run(rows, ARRAY_SIZE(rows))

static void the_first_replica_creates_the_lease_and_renews_it(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_TICK, .action = LEASE_GET },
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ 0, LEASE_WRITTEN, ME, "2", .action = LEASE_WAIT, .held = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "2" },
	};
	(void)state;
	RUN(rows);
}

static void another_holder_is_waited_for_by_our_own_clock(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_TICK, .action = LEASE_GET },
		{ 0, LEASE_READ, OTHER, "5", 3, .action = LEASE_WAIT },
		{ 14 * S, LEASE_READ, OTHER, "5", 3, .action = LEASE_WAIT },
		/* The holder has renewed it, so waiting begins anew. */
		{ S / 2, LEASE_READ, OTHER, "6", 3, .action = LEASE_WAIT },
		{ 14 * S, LEASE_READ, OTHER, "6", 3, .action = LEASE_WAIT },
		{ S, LEASE_READ, OTHER, "6", 3, .action = LEASE_UPDATE, .written_transitions = 4, .written_rv = "6" },
		{ 0, LEASE_WRITTEN, ME, "7", 4, .action = LEASE_WAIT, .held = true, .acquired = true },
	};
	(void)state;
	RUN(rows);
}

static void a_lease_that_was_given_back_is_taken_at_once(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_READ, OTHER, "5", 3, .action = LEASE_WAIT },
		{ 2 * S, LEASE_READ, "", "6", 3, .action = LEASE_UPDATE, .written_transitions = 4, .written_rv = "6" },
	};
	(void)state;
	RUN(rows);
}

static void who_loses_the_race_waits(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_CONFLICT, .action = LEASE_WAIT },
		{ 2 * S, LEASE_TICK, .action = LEASE_GET },
		{ 0, LEASE_READ, OTHER, "1", .action = LEASE_WAIT },
	};
	(void)state;
	RUN(rows);
}

static void failures_are_borne_until_ten_seconds_after_the_last_renewal_was_sent(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		/* The answer took a second. The deadline counts from the request. */
		{ S, LEASE_WRITTEN, ME, "1", .sent_before_ns = S, .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ 5 * S, LEASE_FAILED, .action = LEASE_WAIT, .held = true },
		{ S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ S, LEASE_FAILED, .action = LEASE_LOST },
	};
	(void)state;
	RUN(rows);
}

static void after_a_long_stop_the_first_look_at_the_clock_says_lost(void **state)
{
	static const struct row ticked[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 20 * S, LEASE_TICK, .action = LEASE_LOST },
	};
	static const struct row answered[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ 20 * S, LEASE_WRITTEN, ME, "2", .sent_before_ns = 20 * S, .action = LEASE_LOST },
	};
	static const struct row acquiring[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 20 * S, LEASE_WRITTEN, ME, "1", .sent_before_ns = 20 * S, .action = LEASE_LOST },
	};
	(void)state;
	RUN(ticked);
	RUN(answered);
	RUN(acquiring);
}

static void a_write_whose_answer_was_lost_is_found_to_be_ours(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_READ, "", "1", 7, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "1" },
		{ S, LEASE_FAILED, .action = LEASE_WAIT },
		{ 2 * S, LEASE_TICK, .action = LEASE_GET },
		{ 0, LEASE_READ, ME, "2", 8, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "2" },
		{ 0, LEASE_WRITTEN, ME, "3", 8, .action = LEASE_WAIT, .held = true, .acquired = true },
		/* The same for the holder. */
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_transitions = 8, .written_rv = "3" },
		{ S, LEASE_FAILED, .action = LEASE_WAIT, .held = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_transitions = 8, .written_rv = "3" },
		{ 0, LEASE_CONFLICT, .action = LEASE_GET, .held = true },
		{ 0, LEASE_READ, ME, "4", 8, .action = LEASE_UPDATE, .held = true, .written_transitions = 8, .written_rv = "4" },
	};
	(void)state;
	RUN(rows);
}

static void a_holder_who_finds_another_in_its_place_has_lost(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ 0, LEASE_CONFLICT, .action = LEASE_GET, .held = true },
		{ 0, LEASE_READ, OTHER, "9", .action = LEASE_LOST },
	};
	(void)state;
	RUN(rows);
}

static void a_deleted_lease_is_made_again_by_its_holder(void **state)
{
	static const struct row rows[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 2 * S, LEASE_TICK, .action = LEASE_UPDATE, .held = true, .written_rv = "1" },
		{ 0, LEASE_CONFLICT, .action = LEASE_GET, .held = true },
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE, .held = true },
		{ 0, LEASE_WRITTEN, ME, "1", .action = LEASE_WAIT, .held = true },
	};
	(void)state;
	RUN(rows);
}

static void it_is_given_back_at_the_end_if_it_was_ours(void **state)
{
	static const struct row ours[] = {
		{ 0, LEASE_READ, "", "1", 7, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "1" },
		{ 0, LEASE_WRITTEN, ME, "2", 8, .action = LEASE_WAIT, .held = true, .acquired = true },
		{ S, LEASE_STOP, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "2" },
		{ 0, LEASE_WRITTEN, "", "3", 8, .action = LEASE_DONE },
	};
	static const struct row refused[] = {
		{ 0, LEASE_READ, "", "1", 7, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "1" },
		{ 0, LEASE_WRITTEN, ME, "2", 8, .action = LEASE_WAIT, .held = true, .acquired = true },
		{ S, LEASE_STOP, .action = LEASE_UPDATE, .written_transitions = 8, .written_rv = "2" },
		{ 0, LEASE_CONFLICT, .action = LEASE_DONE },
	};
	static const struct row not_ours[] = {
		{ 0, LEASE_READ, OTHER, "1", .action = LEASE_WAIT },
		{ S, LEASE_STOP, .action = LEASE_DONE },
	};
	static const struct row too_late[] = {
		{ 0, LEASE_ABSENT, .action = LEASE_CREATE },
		{ 0, LEASE_WRITTEN, ME, "2", .action = LEASE_WAIT, .held = true, .acquired = true },
		{ 11 * S, LEASE_STOP, .action = LEASE_DONE },
	};
	(void)state;
	RUN(ours);
	RUN(refused);
	RUN(not_ours);
	RUN(too_late);
}

/*
 * Three replicas and an API server that loses requests and answers, while processes stand still for
 * up to half a minute. There must never be two that may write. Each step looks at all clocks, as
 * the check before each write does.
 */
struct replica {
	struct lease lease;
	int64_t next_ns; /* when it next acts */
	struct lease_event event;
	struct lease_record record;
};

struct world {
	struct lease_record stored;
	uint64_t version;
	bool exists;
	uint64_t seed;
};

static uint64_t dice(struct world *w, uint64_t sides)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed % sides;
}

/* Lets the server handle a request, and may lose the request or the answer. */
static void serve(struct world *w, struct replica *r, const struct lease_step *step, int64_t now)
{
	bool write = step->action == LEASE_CREATE || step->action == LEASE_UPDATE;
	bool taken = write && (step->action == LEASE_CREATE ?
				       !w->exists :
				       w->exists && strcmp(w->stored.rv, step->write.rv) == 0);

	r->event =
		(struct lease_event){ .kind = LEASE_FAILED, .sent_ns = now, .record = &r->record };
	r->next_ns = now + (int64_t)dice(w, 10) * 100 * NS_PER_MS;
	if (dice(w, 10) == 0)
		return; /* the request is lost */
	if (taken) {
		w->exists = true;
		w->stored = step->write;
		snprintf(w->stored.rv, sizeof(w->stored.rv), "%llu",
			 (unsigned long long)++w->version);
	}
	if (dice(w, 10) == 0)
		return; /* the answer is lost */
	r->record = w->stored;
	r->event.kind = write	  ? (taken ? LEASE_WRITTEN : LEASE_CONFLICT) :
			w->exists ? LEASE_READ :
				    LEASE_ABSENT;
}

static void there_are_never_two_who_may_write(void **state)
{
	struct world w = { .seed = 4711 };
	struct replica replicas[3] = { 0 };
	unsigned takeovers = 0;
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		char name[16];
		snprintf(name, sizeof(name), "replica%zu", i);
		lease_init(&replicas[i].lease, name, i + 1);
	}
	for (int64_t now = 0; now < 20000 * S; now += 50 * NS_PER_MS) {
		unsigned holders = 0;
		for (size_t i = 0; i < 3; i++) {
			struct replica *r = &replicas[i];
			holders += lease_is_held(&r->lease, now);
			if (now < r->next_ns)
				continue;
			if (dice(&w, 200) == 0) { /* the replica stands still */
				r->next_ns = now + (int64_t)dice(&w, 30) * S;
				continue;
			}
			struct lease_step step = lease_step(&r->lease, &r->event, now);
			takeovers += step.acquired;
			if (step.action == LEASE_WAIT || step.action == LEASE_LOST) {
				r->event = (struct lease_event){ .kind = LEASE_TICK };
				r->next_ns = now + (step.action == LEASE_LOST ? S : step.delay_ns);
			} else {
				serve(&w, r, &step, now);
			}
		}
		if (holders > 1)
			fail_msg("%u holders at %lld ms", holders, (long long)(now / NS_PER_MS));
	}
	assert_true(takeovers > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_replica_creates_the_lease_and_renews_it),
		cmocka_unit_test(another_holder_is_waited_for_by_our_own_clock),
		cmocka_unit_test(a_lease_that_was_given_back_is_taken_at_once),
		cmocka_unit_test(who_loses_the_race_waits),
		cmocka_unit_test(failures_are_borne_until_ten_seconds_after_the_last_renewal_was_sent),
		cmocka_unit_test(after_a_long_stop_the_first_look_at_the_clock_says_lost),
		cmocka_unit_test(a_write_whose_answer_was_lost_is_found_to_be_ours),
		cmocka_unit_test(a_holder_who_finds_another_in_its_place_has_lost),
		cmocka_unit_test(a_deleted_lease_is_made_again_by_its_holder),
		cmocka_unit_test(it_is_given_back_at_the_end_if_it_was_ours),
		cmocka_unit_test(there_are_never_two_who_may_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
