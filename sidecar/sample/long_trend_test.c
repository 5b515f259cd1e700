/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of growth for hours, with made-up memory of whole days: what must be found, and what must
 * not.
 */
#include "sidecar/sample/long_trend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MIB (INT64_C(1) << 20)
#define READ_S 30
#define PI 3.14159265358979

/* Returns a number between -1 and 1, in the same sequence each time. */
static double noise(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / (double)(1ULL << 52) - 1;
}

static double saw(double t, double period)
{
	return fmod(t, period) / period;
}

/* Memory in MiB, t hours after the first reading. */

static double gcs_leak(double t) { return 1000 + 20 * t; }
static double noisy_gcs_leak(double t) { return 1000 + 20 * t + 3 * noise(); }
static double driver_leak(double t) { return 800 + 600 * t + 20 * noise(); }
static double leak_under_a_saw(double t) { return 500 + 100 * t + 150 * saw(t, 0.13); }
static double leak_after_an_idle_day(double t)
{
	return 600 + (t < 30 ? 0 : 60 * (t - 30)) + 2 * noise();
}
static double leak_in_small_steps(double t) { return 500 + 8 * floor(t * 10); }
static double leak_after_warm_up(double t) { return 400 + 300 * (1 - exp(-t * 6)) + 50 * t; }
static double quicker_and_quicker(double t) { return 500 + 40 * t + 0.3 * t * t; }

static double flat(double t) { (void)t; return 1800; }
static double noisy(double t) { (void)t; return 1500 + 100 * noise(); }
static double warm_up(double t) { return t < 0.9 ? 200 + 1700 * t : 1730; }
static double slow_warm_up(double t) { return 200 + 1500 * (1 - exp(-t / 2)); }
static double very_slow_warm_up(double t) { return 200 + 1500 * (1 - exp(-t / 5)); }
static double collected(double t) { return 500 + 1400 * saw(t, 0.7); }
static double collected_each_two_hours(double t) { return 500 + 1400 * saw(t, 2); }
static double one_step(double t) { return t < 5 ? 600 : 1900; }
static double four_steps(double t) { return 600 + 350 * floor(fmin(t, 7.9) / 2); }
static double actors(double t) { return 600 + 120 * floor(fmin(t, 4) * 3) + 5 * noise(); }
static double plateau(double t) { return 700 + 250 * fmin(t, 2); }
static double growth_that_ended(double t) { return 700 + 150 * fmin(t, 2.5); }
static double day_and_night(double t) { return 1000 - 500 * cos(2 * PI * t / 24); }
static double day_and_night_from_noon(double t) { return 1000 + 500 * cos(2 * PI * t / 24); }
static double day_and_night_from_morning(double t)
{
	return 1000 + 500 * sin(2 * PI * t / 24) + 10 * noise();
}
static double ramps_each_day(double t)
{
	double d = fmod(t + 17, 24);
	return 500 + 250 * fmax(0, fmin(d - 7, 5) - 2.5 * fmax(0, d - 19));
}
static double too_slow(double t) { return 1000 + 2 * t; }
static double tiny(double t) { return 2035 + 0.5 * t; }
static double falling(double t) { return 1900 - 20 * t; }
static double jobs(double t) { return 400 + (fmod(t, 3) < 2.2 ? 700 * fmod(t, 3) : 0); }
static double spikes(double t) { return 700 + (fmod(t, 1.7) < 0.05 ? 1300 : 0); }

struct seen {
	double first_h, last_h; /* -1: there was no warning */
	double mib_per_hour; /* of the first warning */
	double left_h;
};

static struct seen watch(double (*memory)(double), double limit, double hours)
{
	struct long_trend t = { 0 };
	struct seen seen = { .first_h = -1, .last_h = -1 };

	for (int64_t s = 1; (double)s < hours * 3600; s += READ_S) {
		double now = memory((double)s / 3600);
		struct long_growth g;

		if (!long_trend_add(&t, (1000 + s) * NS_PER_SEC, (int64_t)(now * (double)MIB)) ||
		    !long_trend_judge(&t, (int64_t)((limit - now) * (double)MIB), &g))
			continue;
		seen.last_h = (double)s / 3600;
		if (seen.first_h >= 0)
			continue;
		seen.first_h = seen.last_h;
		seen.mib_per_hour = (double)g.rate / (double)MIB;
		seen.left_h = (double)g.left_ns / 3600e9;
		assert_true(g.grew_ns >= LONG_TREND_GREW_MIN_NS);
	}
	return seen;
}

static void what_is_no_leak_is_never_reported(void **state)
{
	static const struct {
		const char *name;
		double (*memory)(double);
		double limit, hours;
	} rows[] = {
#define ROW(f, limit, hours) { #f, f, limit, hours }
		ROW(flat, 2048, 30), ROW(noisy, 2048, 60), ROW(warm_up, 2048, 30), ROW(slow_warm_up, 2048, 30),
		ROW(very_slow_warm_up, 2048, 40), ROW(collected, 2048, 30), ROW(collected_each_two_hours, 2048, 60),
		ROW(one_step, 2048, 30), ROW(four_steps, 2500, 30), ROW(actors, 2500, 30), ROW(plateau, 2048, 30),
		ROW(growth_that_ended, 2048, 30), ROW(day_and_night, 2048, 96), ROW(day_and_night_from_noon, 2048, 96),
		ROW(day_and_night_from_morning, 2048, 96), ROW(ramps_each_day, 2048, 96), ROW(too_slow, 2048, 60), ROW(tiny, 2048, 20),
		ROW(falling, 2048, 60), ROW(jobs, 2048, 60), ROW(spikes, 2048, 60),
#undef ROW
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen seen = watch(rows[i].memory, rows[i].limit, rows[i].hours);

		if (seen.first_h >= 0)
			fail_msg("%s: told after %.1f h of %.1f MiB per hour, %.1f h left",
				 rows[i].name, seen.first_h, seen.mib_per_hour, seen.left_h);
	}
}

static void leaks_are_reported_in_time_with_their_slope(void **state)
{
	static const struct {
		const char *name;
		double (*memory)(double);
		double limit;
		double by_h, slope; /* a warning has come by then, with that slope within a tenth */
		double end_h; /* when the limit is met */
	} rows[] = {
		{ "gcs_server, twelve hours before the end too", gcs_leak, 2048, 29, 20, 52.4 },
		{ "gcs_server on its first day", gcs_leak, 1000 + 20 * 20, 11, 20, 20 },
		{ "with noise", noisy_gcs_leak, 1000 + 20 * 20, 13, 20, 20 },
		{ "a driver", driver_leak, 4096, 3.5, 600, 5.5 },
		{ "under a garbage collector's saw", leak_under_a_saw, 2048, 8.5, 100, 14.2 },
		{ "after an idle day", leak_after_an_idle_day, 2048, 37, 60, 54 },
		{ "in small steps", leak_in_small_steps, 1500, 7.5, 80, 12.5 },
		{ "after a warm-up", leak_after_warm_up, 1500, 9.5, 50, 16 },
		{ "quicker and quicker", quicker_and_quicker, 1500, 12.5, 44, 21.6 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen seen = watch(rows[i].memory, rows[i].limit, rows[i].end_h);

		if (seen.first_h < 2.9 || seen.first_h > rows[i].by_h ||
		    fabs(seen.mib_per_hour / rows[i].slope - 1) > 0.15 ||
		    fabs(seen.first_h + seen.left_h - rows[i].end_h) > 0.2 * rows[i].end_h ||
		    seen.last_h < rows[i].end_h - 0.4)
			fail_msg(
				"%s: told after %.1f h of %.1f MiB per hour, %.1f h left, until %.1f h",
				rows[i].name, seen.first_h, seen.mib_per_hour, seen.left_h,
				seen.last_h);
	}
}

static void a_growth_that_ends_is_not_reported_any_longer(void **state)
{
	struct seen seen = watch(plateau, 1230, 12);
	(void)state;

	/* 500 MiB within two hours, of which the first hour is the warm-up, give no warning. */
	assert_true(seen.first_h < 0);
}

static double leak_that_was_mended(double t)
{
	return 500 + 100 * fmin(t, 6);
}

static void after_a_leak_was_mended_it_is_soon_quiet(void **state)
{
	struct seen seen = watch(leak_that_was_mended, 1300, 40);
	(void)state;

	assert_true(seen.first_h > 2.9 && seen.first_h < 6);
	assert_true(seen.last_h > 5.9 && seen.last_h < 7.5);
}

static void a_gap_begins_the_history_anew(void **state)
{
	struct long_trend t = { 0 };
	struct long_growth g;
	bool grows = false, early = false;
	(void)state;

	for (int64_t s = 1; s < 6 * 3600; s += READ_S)
		if (long_trend_add(&t, s * NS_PER_SEC, (500 + s / 10) * MIB))
			grows |= long_trend_judge(&t, 500 * MIB, &g);
	assert_true(grows);
	/* The machine slept. Two hours have to pass again, but no warm-up. */
	for (int64_t s = 8 * 3600; s < 8 * 3600 + 6000; s += READ_S)
		if (long_trend_add(&t, s * NS_PER_SEC, (500 + s / 10) * MIB))
			early |= long_trend_judge(&t, 500 * MIB, &g);
	assert_false(early);
	assert_int_equal(t.n, 19);
}

static void readings_that_are_none_are_passed_over(void **state)
{
	struct long_trend t = { 0 };
	struct long_growth g = { .rate = 7 };
	(void)state;

	assert_false(long_trend_judge(&t, MIB, &g));
	assert_false(long_trend_add(&t, NS_PER_SEC, -1));
	assert_int_equal(t.began_ns, 0);
	assert_int_equal(g.rate, 7);
}

static void no_room_at_all_is_a_limit_that_is_reached_now(void **state)
{
	struct long_trend t = { 0 };
	struct long_growth g = { 0 };
	bool grows = false;
	(void)state;

	for (int64_t s = 1; s < 4 * 3600; s += READ_S)
		if (long_trend_add(&t, s * NS_PER_SEC, (500 + s / 100) * MIB))
			grows |= long_trend_judge(&t, -5, &g);
	assert_true(grows);
	assert_int_equal(g.left_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_leak_is_never_reported),
		cmocka_unit_test(leaks_are_reported_in_time_with_their_slope),
		cmocka_unit_test(a_growth_that_ends_is_not_reported_any_longer),
		cmocka_unit_test(after_a_leak_was_mended_it_is_soon_quiet),
		cmocka_unit_test(a_gap_begins_the_history_anew),
		cmocka_unit_test(readings_that_are_none_are_passed_over),
		cmocka_unit_test(no_room_at_all_is_a_limit_that_is_reached_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
