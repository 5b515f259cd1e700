/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which deaths are a crash loop, and of how long it is delayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/macros.h"
#include "operator/raycluster/crash_loop.h"

#define NOW ((int64_t)1800000000 * NS_PER_SEC)
#define MANY 300

/* How many seconds ago the pod was made, and died. Made 0: unknown. */
struct row {
	const char *group;
	int64_t made, died;
};

static size_t fill(const struct row *rows, struct crash ret_crashes[static MANY])
{
	size_t n = 0;

	for (; rows[n].group; n++)
		ret_crashes[n] = (struct crash){
			.group = rows[n].group,
			.at_ns = NOW - rows[n].died * NS_PER_SEC,
			.made_ns = rows[n].made ? NOW - rows[n].made * NS_PER_SEC : 0,
			.failure = "failure",
		};
	return n;
}

static void deaths_in_a_row_count_and_others_do_not(void **state)
{
	static const struct {
		const char *what;
		struct row rows[16];
		unsigned n;
		int64_t wait_s; /* -1: it is over */
	} tests[] = {
		{ "nothing", { { 0 } }, 0, 0 },
		{ "one", { { "a", 20, 0 } }, 1, 0 },
		{ "two in a row", { { "a", 40, 20 }, { "a", 20, 0 } }, 2, 0 },
		{ "three in a row", { { "a", 60, 40 }, { "a", 40, 20 }, { "a", 20, 0 } }, 3, 10 },
		{ "each asked for anew after a while", { { "a", 200, 150 }, { "a", 120, 80 }, { "a", 50, 0 } }, 1, 0 },
		{ "a row, and one that was asked for anew", { { "a", 260, 240 }, { "a", 240, 220 }, { "a", 220, 200 }, { "a", 120, 0 } }, 1, 0 },
		{ "a row that goes on after its wait", { { "a", 100, 80 }, { "a", 80, 60 }, { "a", 60, 40 }, { "a", 30, 10 } }, 4, 10 },
		{ "a row beside one that was asked for anew",
		  { { "a", 100, 80 }, { "a", 80, 60 }, { "a", 60, 40 }, { "a", 50, 25 }, { "a", 30, 10 } }, 4, 10 },
		{ "in any order", { { "a", 20, 0 }, { "a", 60, 40 }, { "a", 40, 20 } }, 3, 10 },
		{ "of another group", { { "b", 60, 40 }, { "a", 40, 20 }, { "b", 20, 0 } }, 1, 0 },
		{ "together", { { "a", 60, 5 }, { "a", 60, 4 }, { "a", 60, 4 }, { "a", 60, 3 }, { "a", 60, 0 } }, 1, 0 },
		{ "together, and made again together, twice",
		  { { "a", 60, 45 }, { "a", 60, 44 }, { "a", 40, 25 }, { "a", 40, 24 }, { "a", 20, 5 }, { "a", 20, 4 } }, 3, 5 },
		{ "one of many that is made again beside those that live on",
		  { { "a", 500, 60 }, { "a", 60, 40 }, { "a", 500, 35 }, { "a", 40, 20 }, { "a", 20, 10 } }, 4, 10 },
		{ "after a long life each", { { "a", 3000, 2000 }, { "a", 2000, 1000 }, { "a", 1000, 0 } }, 0, 0 },
		{ "long ago", { { "a", 4000, 3900 }, { "a", 3900, 3800 }, { "a", 3800, 3700 } }, 0, 0 },
		{ "in the same second", { { "a", 40, 40 }, { "a", 40, 40 }, { "a", 40, 40 } }, 1, 0 },
		{ "made when is not known", { { "a", 0, 40 }, { "a", 0, 20 }, { "a", 0, 0 } }, 0, 0 },
		{ "calm for ten minutes", { { "a", 700, 680 }, { "a", 680, 660 }, { "a", 660, 640 } }, 0, 0 },
		{ "not calm yet", { { "a", 600, 580 }, { "a", 580, 560 }, { "a", 560, 540 } }, 3, -1 },
		{ "by a clock that is ahead", { { "a", 20, 0 }, { "a", -20, -40 }, { "a", -60, -80 } }, 3, 10 },
		{ "before it was made", { { "a", 0, 20 }, { "a", 10, 40 } }, 1, 0 },
	};
	struct crash crashes[MANY] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		size_t n = fill(tests[i].rows, crashes);
		struct crash_loop loop = crash_loop_of_group(crashes, n, "a", NOW);

		if (loop.n != tests[i].n)
			fail_msg("%s: %u deaths", tests[i].what, loop.n);
		if (tests[i].wait_s > 0 ? loop.next_ns != NOW + tests[i].wait_s * NS_PER_SEC :
					  loop.next_ns > NOW)
			fail_msg("%s: waits %lld s", tests[i].what,
				 (long long)((loop.next_ns - NOW) / NS_PER_SEC));
		assert_int_equal(crash_loop_is(&loop), tests[i].wait_s != 0);
	}
}

static void the_wait_doubles_up_to_five_minutes(void **state)
{
	static const int64_t waits[] = { 0, 0, 0, 10, 20, 40, 80, 160, 300, 300, 300 };
	struct crash crashes[MANY] = { 0 };

	(void)state;
	for (size_t n = 0; n < MANY; n++) {
		for (size_t i = 0; i < n; i++)
			crashes[i] = (struct crash){ .group = "a",
						     .at_ns = NOW - (int64_t)i * 2 * NS_PER_SEC,
						     .made_ns = NOW -
								(int64_t)(i + 1) * 2 * NS_PER_SEC };
		struct crash_loop loop = crash_loop_of_group(crashes, n, "a", NOW);

		int64_t wait = waits[n < ARRAY_SIZE(waits) ? n : ARRAY_SIZE(waits) - 1];
		assert_int_equal(loop.n, n);
		assert_int_equal(loop.next_ns, wait ? NOW + wait * NS_PER_SEC : 0);
	}
}

static void of_the_head_each_death_counts(void **state)
{
	static const struct row rows[] = {
		{ "headgroup", 900, 20 }, { "headgroup", 900, 40 },    { "a", 20, 10 },
		{ "headgroup", 0, 30 },	  { "headgroup", 9000, 4000 }, { 0 }
	};
	struct crash crashes[MANY] = { 0 };
	struct crash_loop loop = crash_loop_of_head(crashes, fill(rows, crashes), NOW);

	(void)state;
	assert_int_equal(loop.n, 3);
	assert_ptr_equal(loop.last, &crashes[0]);
	assert_int_equal(loop.next_ns, NOW - 10 * NS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deaths_in_a_row_count_and_others_do_not),
		cmocka_unit_test(the_wait_doubles_up_to_five_minutes),
		cmocka_unit_test(of_the_head_each_death_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
