/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how much is kept of crashes that repeat. */
#include "sidecar/spool/crash_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/units.h"

#define MINUTE (60 * NS_PER_SEC)
#define BEGIN (1790000000 * NS_PER_SEC)

static struct crash_loops loops;
static const struct crash_loop *loop;

static enum keep count(const char *signature, int64_t at_ns)
{
	return crash_loops_count(&loops, signature, BEGIN + at_ns, 1, &loop);
}

static int setup(void **state)
{
	(void)state;
	loops = (struct crash_loops){ .n = 0 };
	return 0;
}

static void the_first_is_whole_then_reports_then_a_counter(void **state)
{
	(void)state;
	for (int i = 1; i <= 200; i++) {
		enum keep keep = count("Segfault 139 worker", i * 5 * MINUTE);

		assert_int_equal(loop->count, i);
		assert_int_equal(loop->first_unix_ns, BEGIN + 5 * MINUTE);
		assert_int_equal(keep, i == 1 ? KEEP_FULL :
				       i <= 10 || i == 16 || i == 32 || i == 64 || i == 128 ?
						KEEP_LIGHT :
						KEEP_COUNT);
	}
}

static void another_crash_is_no_part_of_the_loop(void **state)
{
	(void)state;
	assert_int_equal(count("Segfault 139 a", 0), KEEP_FULL);
	assert_int_equal(count("Segfault 139 b", 1), KEEP_FULL);
	assert_int_equal(count("Segfault 139 a", 2), KEEP_LIGHT);
	assert_int_equal(loop->count, 2);
}

static void a_loop_is_over_when_the_crash_has_not_come_for_an_hour(void **state)
{
	(void)state;
	assert_int_equal(count("x", 0), KEEP_FULL);
	assert_int_equal(count("x", 60 * MINUTE), KEEP_LIGHT);
	assert_int_equal(count("x", 120 * MINUTE), KEEP_LIGHT);
	assert_int_equal(count("x", 181 * MINUTE), KEEP_FULL);
	assert_int_equal(loop->count, 1);
}

static void reports_of_ends_that_only_look_alike_are_all_kept(void **state)
{
	unsigned int kept[3] = { 0 };
	(void)state;

	for (int i = 0; i < 100; i++)
		kept[count("v1:ApplicationError:ray-worker:exit=1?", i * MINUTE / 2)]++;
	assert_int_equal(kept[KEEP_FULL], 1);
	assert_int_equal(kept[KEEP_LIGHT], 99);
	/* But never more than all reports together may be. */
	for (int i = 0; i < 1000; i++)
		kept[count("v1:ApplicationError:ray-worker:exit=1?", 60 * MINUTE + i)]++;
	assert_in_range(kept[KEEP_LIGHT], 99, 99 + 120);
}

/* A container can look like a different program at each crash. */
static void crashes_that_all_look_new_are_bounded(void **state)
{
	unsigned int kept[3] = { 0 };
	char name[32];
	(void)state;

	for (int i = 0; i < 3600; i++) {
		snprintf(name, sizeof(name), "Killed 137 run%d", i);
		kept[count(name, i * NS_PER_SEC)]++;
	}
	assert_int_equal(kept[KEEP_FULL], 20 + 19);
	assert_in_range(kept[KEEP_LIGHT], 120, 120 + 240);
	assert_int_equal(loops.n, CRASH_LOOPS_MAX);
}

static void all_are_whole_when_that_is_asked_for(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(crash_loops_count(&loops, "x", BEGIN + i, 0, &loop), KEEP_FULL);
	assert_int_equal(loop->count, 100);
	loops = (struct crash_loops){ .n = 0 };
	for (int i = 1; i <= 5; i++)
		assert_int_equal(crash_loops_count(&loops, "x", BEGIN + i, 3, &loop),
				 i <= 3 ? KEEP_FULL : KEEP_LIGHT);
}

static void a_clock_that_goes_back_is_no_new_loop(void **state)
{
	(void)state;
	assert_int_equal(count("x", 100 * MINUTE), KEEP_FULL);
	assert_int_equal(count("x", 0), KEEP_LIGHT);
	/* An hour or more, as far as can be known */
	assert_int_equal(count("x", 100 * MINUTE), KEEP_FULL);
}

static void a_clock_that_was_years_ahead_counts_nothing_for_years(void **state)
{
	(void)state;
	assert_int_equal(count("x", INT64_C(5256000) * MINUTE), KEEP_FULL);
	assert_int_equal(count("x", INT64_C(5256001) * MINUTE), KEEP_LIGHT);
	assert_int_equal(count("x", 0), KEEP_FULL);
	assert_int_equal(loop->count, 1);
	assert_int_equal(count("x", MINUTE), KEEP_LIGHT);
}

static void a_long_signature_is_cut_and_found_again(void **state)
{
	char name[400];
	(void)state;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(count(name, 0), KEEP_FULL);
	assert_int_equal(count(name, 1), KEEP_LIGHT);
}

static void loops_survive_the_sidecar(void **state)
{
	_cleanup_json_ cJSON *json = NULL;
	struct crash_loops before;
	(void)state;

	count("old", 0);
	for (int i = 0; i < 14; i++)
		count("x", 90 * MINUTE + i * MINUTE);
	before = loops;
	json = crash_loops_to_json(&loops, BEGIN + 110 * MINUTE);
	crash_loops_of_json(json, &loops);
	assert_int_equal(loops.n, 1);
	assert_int_equal(count("x", 120 * MINUTE), KEEP_COUNT);
	assert_int_equal(loop->count, 15);
	assert_int_equal(loop->first_unix_ns, before.loops[1].first_unix_ns);
}

static void what_is_no_list_of_loops_gives_none(void **state)
{
	const char *const texts[] = {
		"null", "{}", "[]", "[1,null,\"x\",[],{}]", "[{\"signature\":\"x\",\"count\":1}]",
		"[{\"signature\":\"x\",\"count\":-1,\"first\":\"2026-11-21T00:00:00Z\",\"last\":\"2026-11-21T00:00:00Z\"}]",
		"[{\"signature\":7,\"count\":1,\"first\":\"2026-11-21T00:00:00Z\",\"last\":\"2026-11-21T00:00:00Z\"}]",
		"[{\"signature\":\"x\",\"count\":1,\"first\":\"yesterday\",\"last\":\"2026-11-21T00:00:00Z\"}]",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_json_ cJSON *json = cJSON_Parse(texts[i]);

		crash_loops_of_json(json, &loops);
		assert_int_equal(loops.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_is_whole_then_reports_then_a_counter, setup),
		cmocka_unit_test_setup(another_crash_is_no_part_of_the_loop, setup),
		cmocka_unit_test_setup(a_loop_is_over_when_the_crash_has_not_come_for_an_hour, setup),
		cmocka_unit_test_setup(reports_of_ends_that_only_look_alike_are_all_kept, setup),
		cmocka_unit_test_setup(crashes_that_all_look_new_are_bounded, setup),
		cmocka_unit_test_setup(all_are_whole_when_that_is_asked_for, setup),
		cmocka_unit_test_setup(a_clock_that_goes_back_is_no_new_loop, setup),
		cmocka_unit_test_setup(a_clock_that_was_years_ahead_counts_nothing_for_years, setup),
		cmocka_unit_test_setup(a_long_signature_is_cut_and_found_again, setup),
		cmocka_unit_test_setup(loops_survive_the_sidecar, setup),
		cmocka_unit_test_setup(what_is_no_list_of_loops_gives_none, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
