/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what has to be dropped, as a table of stores that hold too much. */
#include "sidecar/spool/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

#define ITEMS_MAX 4
#define NOW (1000 * NS_PER_SEC)

/* drops has one letter for each item: '-', or the first letter of core, files or bundle. */
static const struct {
	const char *name;
	struct stored items[ITEMS_MAX];
	struct quota quota;
	int64_t to_free, lacking;
	const char *drops;
} rows[] = {
	{ "what fits stays", { { 1, 50, 30, 20, NULL } }, { 100, 1, 0 }, 0, 0, "-" },
	{ "nothing is bounded by nothing", { { 1, 1 << 30, 0, 1, NULL }, { 2, 1 << 30, 0, 1, NULL } }, { 0, 0, 0 }, 0, 0, "--" },
	{ "the oldest core goes first", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 150, 0, 0 }, 0, 0, "c-" },
	{ "all cores before any log", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 101, 0, 0 }, 0, 0, "cc" },
	{ "then the oldest logs", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 80, 0, 0 }, 0, 0, "fc" },
	{ "reports last", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 30, 0, 0 }, 0, 0, "bf" },
	{ "a bundle without a core loses none", { { 1, 0, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 100, 0, 0 }, 0, 0, "-c" },
	{ "of too many the oldest", { { 1, 0, 0, 9, NULL }, { 2, 0, 0, 9, NULL }, { 3, 0, 0, 9, NULL } }, { 0, 2, 0 }, 0, 0, "b--" },
	{ "what goes for its number frees its bytes",
	  { { 1, 50, 0, 10, NULL }, { 2, 50, 0, 10, NULL }, { 3, 50, 0, 10, NULL } }, { 130, 2, 0 }, 0, 0, "b--" },
	{ "too old", { { 1, 0, 0, 9, NULL }, { NOW - NS_PER_SEC, 0, 0, 9, NULL } }, { 0, 0, 10 * NS_PER_SEC }, 0, 0, "b-" },
	{ "as old as allowed", { { NOW - 10 * NS_PER_SEC, 0, 0, 9, NULL } }, { 0, 0, 10 * NS_PER_SEC }, 0, 0, "-" },
	{ "a time in the future is not old", { { 2 * NOW, 0, 0, 9, NULL } }, { 0, 0, 1 }, 0, 0, "-" },
	{ "a full disk under a quota that holds", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 1000, 0, 0 }, 60, 0, "cc" },
	{ "the larger of both", { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } }, { 150, 0, 0 }, 120, 0, "fc" },
	{ "more than there is", { { 1, 50, 30, 20, NULL } }, { 0, 0, 0 }, 150, 50, "b" },
	{ "an empty store", { { 0 } }, { 1, 1, 1 }, 10, 10, "" },
};

static void the_table_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum drop planned[ITEMS_MAX];
		char drops[ITEMS_MAX + 1] = "";

		assert_int_equal(quota_plan(rows[i].items, strlen(rows[i].drops), &rows[i].quota,
					    NOW, rows[i].to_free, DROP_BUNDLE, planned),
				 rows[i].lacking);
		for (size_t k = 0; k < strlen(rows[i].drops); k++)
			drops[k] = "-cfb"[planned[k]];
		if (strcmp(drops, rows[i].drops) != 0)
			fail_msg("%s: %s, not %s", rows[i].name, drops, rows[i].drops);
	}
}

static void for_the_sake_of_others_no_report_goes(void **state)
{
	const struct stored items[] = { { 1, 50, 30, 20, NULL }, { 2, 50, 30, 20, NULL } };
	const struct quota none = { .bytes = 0 }, small = { .bytes = 30 };
	enum drop drops[2];
	(void)state;

	assert_int_equal(quota_plan(items, 2, &none, NOW, 500, DROP_FILES, drops), 340);
	assert_int_equal(drops[0], DROP_FILES);
	assert_int_equal(drops[1], DROP_FILES);
	/* It still keeps its own bound. */
	assert_int_equal(quota_plan(items, 2, &small, NOW, 500, DROP_FILES, drops), 320);
	assert_int_equal(drops[0], DROP_BUNDLE);
	assert_int_equal(drops[1], DROP_FILES);
}

static void a_clock_that_was_set_tells_no_age(void **state)
{
	static const struct {
		int64_t then, now;
		bool tells;
	} clocks[] = {
		{ 5, 5, true },
		{ 0, 3600 * NS_PER_SEC, true },
		{ 0, 3601 * NS_PER_SEC, false },
		{ 0, -3601 * NS_PER_SEC, false },
		{ INT64_MIN, INT64_MAX, false },
	};
	const struct quota q = { 1, 2, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct quota by = quota_by_clock(&q, clocks[i].then, clocks[i].now);

		assert_true(by.bytes == 1 && by.count == 2);
		assert_int_equal(by.age_ns, clocks[i].tells ? 3 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_table_holds),
					    cmocka_unit_test(for_the_sake_of_others_no_report_goes),
					    cmocka_unit_test(a_clock_that_was_set_tells_no_age) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
