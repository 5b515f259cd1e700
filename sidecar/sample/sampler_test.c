/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the sampler with a fake clock. */
#include "sidecar/sample/sampler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define MS NS_PER_MS
#define S NS_PER_SEC

static const struct {
	const char *what;
	struct {
		int64_t at_ns, usage, limit;
	} readings[4]; /* the last reading with a limit other than 0 counts */
	int64_t delay_ns;
} rows[] = {
	{ "no limit, no hurry", { { S, 5 * GIB, -1 } }, SAMPLE_MAX_NS },
	{ "far from the limit", { { S, 1 * GIB, 4 * GIB } }, SAMPLE_MAX_NS },
	{ "half a gibibyte left at the rate of one core", { { S, GIB / 2, GIB } }, S / 4 },
	{ "at the limit", { { S, GIB, GIB } }, SAMPLE_MIN_NS },
	{ "over the limit, which was lowered", { { S, 2 * GIB, GIB } }, SAMPLE_MIN_NS },
	{ "10 MiB left", { { S, GIB - 10 * MIB, GIB } }, SAMPLE_MIN_NS },
	{ "4 GiB/s was seen: a quarter of the time", { { S, 0, 5 * GIB }, { 2 * S, 4 * GIB, 5 * GIB } }, S / 8 },
	{ "memory given back", { { S, 0, 5 * GIB }, { 2 * S, 4 * GIB, 5 * GIB }, { 3 * S, 1 * GIB, 5 * GIB } }, S / 2 },
	{ "a fast rate is remembered", { { S, 0, 5 * GIB }, { 2 * S, 4 * GIB, 5 * GIB }, { 3 * S, 3 * GIB, 5 * GIB } }, S / 4 },
	{ "and forgotten after a minute",
	  { { S, 0, 5 * GIB }, { 2 * S, 4 * GIB, 5 * GIB }, { 65 * S, 4 * GIB + GIB / 2, 5 * GIB } },
	  S / 4 },
	{ "a clock that stands still", { { S, 0, GIB }, { S, GIB / 2, GIB } }, S / 4 },
	{ "a clock that goes back", { { 2 * S, 0, GIB }, { S, GIB / 2, GIB } }, S / 4 },
	{ "a usage that is not known", { { S, -1, GIB } }, S / 2 },
	{ "forged numbers, one nanosecond apart", { { S, 0, INT64_MAX }, { S + 1, INT64_MAX / 2, INT64_MAX } }, SAMPLE_MAX_NS },
	{ "the largest of all", { { S, 0, INT64_MAX }, { S + 1, INT64_MAX, INT64_MAX } }, SAMPLE_MIN_NS },
};

static void the_delay_is_half_the_headroom_over_the_fastest_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sampler s = { 0 };
		int64_t delay = 0;

		for (size_t j = 0; j < ARRAY_SIZE(rows[i].readings) && rows[i].readings[j].limit;
		     j++)
			delay = sampler_next(&s, rows[i].readings[j].at_ns,
					     rows[i].readings[j].usage, rows[i].readings[j].limit);
		/* The rounding of a forged usage may differ. */
		if (delay < rows[i].delay_ns - MS || delay > rows[i].delay_ns + MS)
			fail_msg("%s: %lld ns", rows[i].what, (long long)delay);
	}
}

static void a_leak_is_always_seen_above_ninety_per_cent(void **state)
{
	/* Growth begins suddenly, at any rate up to what one core can do. */
	(void)state;
	for (int64_t rate = 64 * MIB; rate <= GIB; rate *= 2) {
		struct sampler s = { 0 };
		int64_t now = S, usage = 100 * MIB, seen = 0;

		while (usage < GIB) {
			int64_t delay = sampler_next(&s, now, usage, GIB);

			seen = usage;
			assert_in_range(delay, SAMPLE_MIN_NS, SAMPLE_MAX_NS);
			now += delay;
			usage += (int64_t)((double)delay / S * (double)rate);
		}
		assert_true(seen >= GIB / 10 * 9);
	}
}

static void at_the_limit_haste_does_not_last(void **state)
{
	struct sampler s = { 0 };
	int64_t now = S;
	int samples = 0, first = 0;
	(void)state;

	for (; now < 61 * S; samples++) {
		int64_t delay = sampler_next(&s, now, GIB, GIB);

		assert_in_range(delay, SAMPLE_MIN_NS, SAMPLE_CALM_NS);
		first += now < S + S / 2;
		now += delay;
	}
	assert_in_range(first, 90, 100); /* in the first half second */
	assert_in_range(samples / 60, 50, 75); /* per second */
	/* After a rest it may hurry again. */
	now += 30 * S;
	sampler_next(&s, now, 0, GIB);
	assert_int_equal(sampler_next(&s, now + S, GIB, GIB), SAMPLE_MIN_NS);
}

/*
 * Returns how many looks there are in that time at a container with this usage, if an event comes
 * every event_ns.
 */
static int64_t looks_under_events(int64_t usage, int64_t seconds, int64_t event_ns, bool readable)
{
	struct sampler s = { 0 };
	int64_t looks = 0, due = S, end = S + seconds * S;

	for (int64_t now = S; now < end; now += event_ns) {
		int64_t delay = now >= due ? 0 : sampler_hurry(&s, now);

		if (delay > 0) {
			due = MIN(due, now + delay);
			continue;
		}
		looks++;
		/* The sampler gets no readings of a cgroup that cannot be read. */
		due = now + (readable ? sampler_next(&s, now, usage, GIB) : SAMPLE_MAX_NS);
	}
	return looks;
}

static void events_and_timers_share_one_budget(void **state)
{
	(void)state;
	for (int64_t event_ns = S / 64000; event_ns <= 4 * MS; event_ns *= 16) {
		/*
		 * At first there are 200 urgent looks, and then no more than at the limit without
		 * events.
		 */
		assert_in_range(looks_under_events(GIB / 8, 60, event_ns, true), 60 * 40,
				200 + 60 * 80);
		assert_in_range(looks_under_events(GIB, 60, event_ns, true), 60 * 40,
				200 + 60 * 80);
		assert_in_range(looks_under_events(GIB / 8, 60, event_ns, false), 60 * 40,
				200 + 60 * 80);
	}
	/* A hundred events a second ask for fewer looks, and get fewer. */
	assert_in_range(looks_under_events(GIB / 8, 60, 10 * MS, true), 60 * 40, 200 + 60 * 80);
}

static void an_event_after_a_pause_is_answered_at_once(void **state)
{
	struct sampler s = { 0 };
	(void)state;

	assert_int_equal(sampler_hurry(&s, S), 0);
	assert_int_equal(sampler_next(&s, S, 0, GIB), S / 2);
	assert_int_equal(sampler_hurry(&s, S + 30 * MS), 0);
	/*
	 * Right after another look it waits for the shortest interval, but not longer than until
	 * the next sample.
	 */
	assert_int_equal(sampler_hurry(&s, S + 31 * MS), SAMPLE_MIN_NS - MS);
	assert_int_equal(sampler_next(&s, S + 35 * MS, GIB, GIB), SAMPLE_MIN_NS);
	assert_int_equal(sampler_hurry(&s, S + 39 * MS), MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_delay_is_half_the_headroom_over_the_fastest_rate),
		cmocka_unit_test(at_the_limit_haste_does_not_last),
		cmocka_unit_test(events_and_timers_share_one_budget),
		cmocka_unit_test(an_event_after_a_pause_is_answered_at_once),
		cmocka_unit_test(a_leak_is_always_seen_above_ninety_per_cent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
