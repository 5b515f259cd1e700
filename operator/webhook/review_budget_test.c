/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the bounds of a review: its bytes, values and depth, and the budgets of costly ones. */
#include "operator/webhook/review_budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/fnv.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/kube/json_shape.h"

/* Appends n times the same text, with commas. */
static void add_times(struct strbuf *text, const char *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addf(text, "%s%s", i ? "," : "", part);
}

static void bytes_values_and_depth_each_have_a_bound(void **state)
{
	static const struct {
		const char *open, *part, *close;
		size_t n;
		enum review_size size;
	} rows[] = {
		{ "[", "\"\"", "]", 1000, REVIEW_USUAL },
		{ "[", "\"\"", "]", REVIEW_COSTLY_VALUES, REVIEW_COSTLY },
		{ "[", "\"\"", "]", REVIEW_VALUES_MAX - 1, REVIEW_COSTLY },
		{ "[", "\"\"", "]", REVIEW_VALUES_MAX + 1, REVIEW_TOO_LARGE },
		{ "[", "\"\"", "]", 900000, REVIEW_TOO_LARGE }, /* 2.7 MB that took 300 MiB */
		{ "[", "{\"name\":\"v1\"}", "]", 300000, REVIEW_TOO_LARGE },
		{ "", "[{", "", JSON_DEPTH_MAX, REVIEW_TOO_LARGE },
		{ "{", "\"a\":1", "}", REVIEW_VALUES_MAX + 1, REVIEW_TOO_LARGE },
		{ "\"", "0123456789abcdef", "\"", REVIEW_COSTLY_BYTES / 17 + 1, REVIEW_COSTLY },
		{ "\"", "0123456789abcdef", "\"", REVIEW_BYTES_MAX / 17 + 1, REVIEW_TOO_LARGE },
		{ "\"unended", "[", "", 1000000, REVIEW_COSTLY }, /* it is no JSON, and parsing fails early */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(16 << 20);

		strbuf_adds(&text, rows[i].open);
		add_times(&text, rows[i].part, rows[i].n);
		strbuf_adds(&text, rows[i].close);
		if (review_size(strbuf_str(&text), text.len) != rows[i].size)
			fail_msg("row %zu", i);
	}
}

static size_t taken(struct review_budget *budget, const char *name_space, size_t tries,
		    int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < tries; i++)
		n += review_budget_take(budget, name_space, now_ns);
	return n;
}

static void a_namespace_that_sends_many_costly_reviews_leaves_the_others_theirs(void **state)
{
	struct review_budget budget;
	int64_t now = 1000 * NS_PER_SEC;

	(void)state;
	review_budget_init(&budget);
	assert_int_equal(taken(&budget, "greedy", 100, now), REVIEW_COSTLY_NAMESPACE_BURST);
	assert_int_equal(taken(&budget, "modest", 2, now), 2);
	for (int i = 0; i < 10; i++) {
		now += NS_PER_SEC;
		assert_int_equal(taken(&budget, "greedy", 100, now), REVIEW_COSTLY_NAMESPACE_RATE);
		assert_int_equal(taken(&budget, "modest", 1, now), 1);
	}
}

static void all_namespaces_together_have_a_bound_and_what_it_refuses_costs_the_namespace_nothing(void **state)
{
	struct review_budget budget;
	size_t n = 0;

	(void)state;
	review_budget_init(&budget);
	for (char c = 'a'; c <= 'z'; c++)
		n += taken(&budget, (char[]){ c, '\0' }, 100, NS_PER_SEC);
	assert_int_equal(n, REVIEW_COSTLY_BURST);
	assert_int_equal(taken(&budget, "z", 100, 10 * NS_PER_SEC), REVIEW_COSTLY_NAMESPACE_BURST);
}

static void a_name_chosen_for_its_hash_does_not_take_the_budget_of_another_namespace(void **state)
{
	uint64_t victims = fnv1a("victim", FNV_START) % REVIEW_BUDGETS;
	size_t left = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		struct review_budget budget;
		char name[16];

		snprintf(name, sizeof(name), "tenant-%d", i);
		if (fnv1a(name, FNV_START) % REVIEW_BUDGETS != victims)
			continue;
		review_budget_init(&budget);
		taken(&budget, name, REVIEW_COSTLY_NAMESPACE_BURST, NS_PER_SEC);
		left += taken(&budget, "victim", 1, NS_PER_SEC);
	}
	assert_in_range(left, 100, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_values_and_depth_each_have_a_bound),
		cmocka_unit_test(
			a_namespace_that_sends_many_costly_reviews_leaves_the_others_theirs),
		cmocka_unit_test(
			all_namespaces_together_have_a_bound_and_what_it_refuses_costs_the_namespace_nothing),
		cmocka_unit_test(
			a_name_chosen_for_its_hash_does_not_take_the_budget_of_another_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
