/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an amount of memory has grown for hours. */
#include "sidecar/sample/long_trend.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

#define PARTS 17 /* the boundaries of four quarters with four steps each */
#define QUARTERS 4
#define STEPS_MIN (LONG_TREND_GREW_MIN_NS / LONG_TREND_STEP_NS)
#define GROWTH_MIN_KIB (32 * 1024)
/*
 * The growth begins at the last time when the memory was within this part of it above the lowest.
 */
#define TROUGH 0.03
#define REST_STEPS 12 /* length of a rest; an hour */
#define REST 0.05 /* part of the later growth that a rest may have at most */
#define RISES_MIN 13 /* how many of the sixteen steps have to rise */
#define RISE_SHARE 0.25 /* part of a mean step from which on a step counts as a rise */
#define QUARTER_SHARE 0.85 /* part of a fourth of the growth that each quarter has to have */
#define AHEAD 3.0 /* a forecast reaches this many times as far as the observation */
/* The same on the first day, when it may be the rise of the daily load */
#define AHEAD_FIRST_DAY 1.0
#define KIB 1024

static void long_trend_keep(struct long_trend *t)
{
	t->lows[t->next] = (uint32_t)MIN(t->low / KIB, (int64_t)UINT32_MAX);
	t->next = (t->next + 1) % LONG_TREND_STEPS;
	t->n = MIN(t->n + 1, (size_t)LONG_TREND_STEPS);
}

bool long_trend_add(struct long_trend *t, int64_t at_ns, int64_t bytes)
{
	int64_t step = at_ns / LONG_TREND_STEP_NS + 1;
	bool over = false;

	if (bytes < 0)
		return false;
	if (!t->began_ns)
		t->began_ns = at_ns;
	if (at_ns - t->began_ns < LONG_TREND_WARM_UP_NS)
		return false;
	if (step == t->step) {
		t->low = MIN(t->low, bytes);
		return false;
	}
	if (step == t->step + 1) {
		long_trend_keep(t);
		over = true;
	} else
		t->n = t->next = 0;
	t->step = step;
	t->low = bytes;
	return over;
}

/* Copies the readings, oldest first. Returns how many there are. */
static size_t long_trend_unroll(const struct long_trend *t, int64_t v[static LONG_TREND_STEPS])
{
	for (size_t i = 0; i < t->n; i++)
		v[i] = t->lows[(t->next + LONG_TREND_STEPS - t->n + i) % LONG_TREND_STEPS];
	return t->n;
}

/* Returns the end of the last hour with next to no growth, compared with the growth after it. */
static size_t last_rest(const int64_t *v, size_t n, size_t start)
{
	for (size_t i = n - MIN(n, (size_t)STEPS_MIN); i > start && i >= REST_STEPS; i--) {
		double before = (double)(v[i] - v[i - REST_STEPS]) / REST_STEPS,
		       after = (double)(v[n - 1] - v[i]) / (double)(n - 1 - i);

		if (before <= REST * after)
			return i;
	}
	return start;
}

static size_t last_trough(const int64_t *v, size_t n)
{
	int64_t low = v[0], now = v[n - 1];
	size_t start = 0;

	for (size_t i = 0; i < n; i++)
		low = MIN(low, v[i]);
	for (size_t i = 0; i < n; i++)
		if ((double)(v[i] - low) <= TROUGH * (double)(now - low))
			start = i;
	return start;
}

static bool is_new_territory(const int64_t *v, size_t n, size_t start)
{
	int64_t before = 0;

	for (size_t i = 0; i < start; i++)
		before = MAX(before, v[i]);
	return before < v[n - 1];
}

/* Finds the lowest value of each part. */
static void long_trend_divide(const int64_t *v, size_t n, double parts[static PARTS])
{
	for (size_t p = 0; p < PARTS; p++) {
		size_t begin = n * p / PARTS, end = n * (p + 1) / PARTS;

		parts[p] = (double)v[begin];
		for (size_t i = begin; i < end; i++)
			parts[p] = MIN(parts[p], (double)v[i]);
	}
}

static bool is_straight(const double parts[static PARTS])
{
	double growth = parts[PARTS - 1] - parts[0];
	int rises = 0;

	for (size_t p = 1; p < PARTS; p++)
		rises += parts[p] - parts[p - 1] >= RISE_SHARE * growth / (PARTS - 1);
	if (growth < GROWTH_MIN_KIB || rises < RISES_MIN)
		return false;
	for (size_t p = 0; p + 1 < PARTS; p += QUARTERS)
		if (parts[p + QUARTERS] - parts[p] < QUARTER_SHARE * growth / QUARTERS)
			return false;
	return true;
}

/*
 * A growth that slows down from the first half to the second will slow down further; the rest of it
 * is a geometric series.
 */
static bool comes_to_rest(const double parts[static PARTS], double room)
{
	double first = parts[PARTS / 2] - parts[0], second = parts[PARTS - 1] - parts[PARTS / 2];

	return second < first && second * second / (first - second) < room;
}

static int long_trend_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median slope between neighbouring parts. */
static double slope_of(const double parts[static PARTS])
{
	double slopes[PARTS * (PARTS - 1) / 2];
	size_t n = 0;

	for (size_t i = 0; i < PARTS; i++)
		for (size_t j = i + 1; j < PARTS; j++)
			slopes[n++] = (parts[j] - parts[i]) / (double)(j - i);
	qsort(slopes, n, sizeof(slopes[0]), long_trend_compare);
	return slopes[n / 2];
}

/* Judges the growth of the last n readings. `whole`: a whole day was seen. */
static bool long_trend_verdict(const int64_t *v, size_t n, bool whole, double room,
			       struct long_growth *ret_growth)
{
	double hours = (double)n * LONG_TREND_STEP_NS / (3600.0 * NS_PER_SEC),
	       ahead = hours * (whole ? AHEAD : AHEAD_FIRST_DAY);
	double parts[PARTS], rate, left;

	if (n < STEPS_MIN)
		return false;
	long_trend_divide(v, n, parts);
	if (!is_straight(parts) || comes_to_rest(parts, room))
		return false;
	rate = slope_of(parts) * PARTS / hours;
	left = rate > 0 ? MAX(room, 0.0) / rate : ahead + 1;
	if (left > ahead || left * 3600 * NS_PER_SEC > (double)LONG_TREND_LEFT_MAX_NS)
		return false;
	*ret_growth = (struct long_growth){ .rate = (int64_t)(rate * KIB),
					    .grew_ns = (int64_t)n * LONG_TREND_STEP_NS,
					    .left_ns = (int64_t)(left * 3600 * NS_PER_SEC) };
	return true;
}

bool long_trend_judge(const struct long_trend *t, int64_t room, struct long_growth *ret_growth)
{
	int64_t v[LONG_TREND_STEPS];
	size_t n = long_trend_unroll(t, v), starts[2];

	if (n < STEPS_MIN)
		return false;
	starts[0] = last_trough(v, n);
	starts[1] = last_rest(v, n, starts[0]);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (is_new_territory(v, n, starts[i]) &&
		    long_trend_verdict(v + starts[i], n - starts[i], n == LONG_TREND_STEPS,
				       (double)room / KIB, ret_growth))
			return true;
	return false;
}
