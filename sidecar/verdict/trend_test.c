/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the trend. Sizes in MiB, times in seconds. */
#include "sidecar/verdict/trend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

#define MIB ((int64_t)1 << 20)

static const struct {
	const char *what;
	int own[12]; /* one a second, 0 ends */
	int grew, from, to, flat, seen;
} rows[] = {
	{ "a steady climb", { 100, 200, 300, 400 }, 3, 100, 400, 0, 3 },
	{ "flat, then a climb", { 100, 100, 100, 100, 200, 300 }, 2, 100, 300, 0, 5 },
	{ "a climb, then flat", { 100, 200, 300, 300, 300, 300 }, 2, 100, 300, 3, 5 },
	{ "flat all the time", { 300, 300, 300, 300 }, 0, 300, 300, 3, 3 },
	{ "what a task gives back is not counted against the next", { 100, 900, 100, 100, 200, 400 }, 2, 100, 400, 0, 5 },
	{ "a small dip is no new beginning", { 100, 200, 190, 300, 400 }, 4, 100, 400, 0, 4 },
	{ "noise is no growth", { 1000, 1001, 1000, 1001, 1000 }, 0, 1000, 1000, 4, 4 },
	{ "a pause is part of it", { 100, 200, 200, 200, 300 }, 4, 100, 300, 0, 4 },
	{ "a task grew and gave it back, and nothing since", { 100, 900, 100, 100, 100 }, 0, 100, 100, 2, 4 },
	{ "it gave back what it had from the start", { 300, 300, 300, 200, 200 }, 0, 200, 200, 4, 4 },
	{ "a slow fall", { 100, 98, 96, 94, 92, 90, 88 }, 0, 88, 88, 6, 6 },
	{ "one sample", { 100 }, 0, 100, 100, 0, 0 },
	{ "none", { 0 }, 0, 0, 0, 0, 0 },
};

static void the_latest_growth_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trend_state s = { .pid = 7 };
		struct trend t;

		for (int second = 0; rows[i].own[second]; second++)
			trend_add(&s, second * NS_PER_SEC, rows[i].own[second] * MIB, false);
		trend_result(&s, &t);
		if (t.grew_ns != rows[i].grew * NS_PER_SEC || t.from != rows[i].from * MIB ||
		    t.to != rows[i].to * MIB || t.flat_ns != rows[i].flat * NS_PER_SEC ||
		    t.seen_ns != rows[i].seen * NS_PER_SEC)
			fail_msg("%s: grew %.0f s from %.0f to %.0f, flat %.0f s, seen %.0f s",
				 rows[i].what, (double)t.grew_ns / 1e9, (double)t.from / 1048576,
				 (double)t.to / 1048576, (double)t.flat_ns / 1e9,
				 (double)t.seen_ns / 1e9);
	}
}

static void only_the_process_asked_for_counts(void **state)
{
	struct history *h = history_new();
	struct trend t;
	(void)state;

	for (int i = 0; i < 1000; i++) {
		struct sample s = { .at_ns = (i + 1) * NS_PER_SEC, .n_top = 2 };

		s.top[0].pid = 3;
		s.top[0].rss = 500000 * MIB;
		s.top[1].pid = 4;
		s.top[1].rss = (i + 1) * 100 * MIB;
		s.top[1].shared = MIB;
		history_add(h, &s);
	}
	trend_of_process(h, 4, &t); /* to within the noise */
	assert_true(t.to > 99000 * MIB && t.to <= 99999 * MIB);
	assert_true(t.grew_ns > 100 * NS_PER_SEC && t.flat_ns <= 2 * NS_PER_SEC);
	trend_of_process(h, 5, &t);
	assert_int_equal(t.seen_ns, 0);
	history_free(h);
}

/*
 * A process grows by 2 MiB/s up to grows_s, and stays the same until ends_s. From full_s on the
 * usage is 400 MiB.
 */
static void add_stalled(struct history *h, int grows_s, int full_s, int ends_s, int64_t psi_some,
			int64_t limit, int64_t high)
{
	for (int second = 1; second <= ends_s; second++) {
		struct sample s = { .at_ns = second * NS_PER_SEC,
				    .memory = MEMORY_ABSENT,
				    .n_top = 1 };

		s.memory.limit = limit * MIB;
		s.memory.high = high < 0 ? -1 : high * MIB;
		s.memory.file = 0;
		s.memory.usage = second < full_s ? 100 * MIB : 400 * MIB;
		s.memory.psi_some = psi_some;
		s.top[0].pid = 3;
		s.top[0].rss = (100 + 2 * MIN(second, grows_s)) * MIB;
		history_add(h, &s);
	}
}

static void a_process_that_finds_no_room_is_told_from_one_that_needs_no_more(void **state)
{
	static const struct {
		int grows_s, full_s, ends_s;
		int64_t psi_some, limit, high;
		bool full;
	} cases[] = {
		{ 20, 20, 40, -1, 400, -1, true }, /* the memory stayed at its limit */
		{ 20, 100, 40, -1, 400, -1, false }, /* there was room */
		{ 20, 39, 40, -1, 400, -1, false }, /* another process filled it at the end */
		{ 20, 100, 40, 5000, 400, -1, true }, /* memory.high slowed it down */
		/* so it did where the kernel does not measure pressure */
		{ 20, 20, 40, -1, 900, 400, true },
		{ 20, 20, 40, -1, 900, 800, false }, /* it is far below memory.high */
		{ 40, 10, 40, -1, 400, -1, false }, /* it grew all the time */
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct history *h = history_new();
		struct trend t;

		add_stalled(h, cases[i].grows_s, cases[i].full_s, cases[i].ends_s,
			    cases[i].psi_some, cases[i].limit, cases[i].high);
		trend_of_process(h, 3, &t);
		assert_true(t.full_ns <= t.flat_ns);
		if ((t.full_ns > 10 * NS_PER_SEC) != cases[i].full)
			fail_msg("case %zu: flat %.0f s, full %.0f s", i, (double)t.flat_ns / 1e9,
				 (double)t.full_ns / 1e9);
		history_free(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_finds_no_room_is_told_from_one_that_needs_no_more),
		cmocka_unit_test(the_latest_growth_is_found),
		cmocka_unit_test(only_the_process_asked_for_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
