/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the verdict about KubeRay as tables of looks, under a fake clock. */
#include "operator/manager/kuberay_lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

/* A row sets only the members that matter to it. The others are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define S NS_PER_SEC
#define HOLDER "kuberay-operator-7d_1"

/* One look at a time of the fake clock, and the verdict that must follow. */
struct row {
	int64_t after_s; /* since the previous row */
	struct kuberay_lease leases[2]; /* the first one without a namespace ends the list */
	enum kuberay_verdict verdict;
	const char *witness; /* its namespace; NULL: there is none */
	int64_t next_s; /* until the next look; 0: the usual time */
};

static void run(const struct row *rows, size_t n)
{
	struct kuberay_sightings s = { 0 };
	int64_t now = 1000 * S;

	assert_int_equal(s.verdict, KUBERAY_UNKNOWN);
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		size_t listed = !*row->leases[0].namespace ? 0 : !*row->leases[1].namespace ? 1 : 2;
		now += row->after_s * S;
		kuberay_saw(&s, row->leases, listed, now);
		const struct kuberay_sighting *witness = kuberay_witness(&s, now, NULL, NULL);
		if (s.verdict != row->verdict)
			fail_msg("row %zu: verdict %d", i, (int)s.verdict);
		if (!!witness != !!row->witness ||
		    (witness && strcmp(witness->namespace, row->witness) != 0))
			fail_msg("row %zu: witness %s", i, witness ? witness->namespace : "(none)");
		assert_int_equal(s.next_ns - now, row->next_s ? row->next_s * S : KUBERAY_LOOK_NS);
	}
}
#define RUN(rows) run((rows), ARRAY_SIZE(rows))

static void without_a_lease_kuberay_is_absent_at_once(void **state)
{
	static const struct row rows[] = { { .verdict = KUBERAY_ABSENT },
					   { .after_s = 5, .verdict = KUBERAY_ABSENT } };
	(void)state;

	RUN(rows);
}

static void a_lease_with_a_holder_is_waited_for_one_duration(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 5, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 9, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray", .next_s = 1 },
		{ 1, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_ABSENT },
		{ 5, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_ABSENT },
	};
	(void)state;

	RUN(rows);
}

static void a_lease_that_changes_between_two_looks_is_renewed_and_gone_some_durations_later(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 5, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "ray" },
		{ 59, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "ray", .next_s = 1 },
		{ 1, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_ABSENT },
		/* KubeRay is back, and recognised at once, because this Lease is known. */
		{ 5, { { "ray", HOLDER, "t3", 15 } }, KUBERAY_RUNS, "ray" },
	};
	(void)state;

	RUN(rows);
}

static void a_time_that_goes_back_is_a_renewal_as_well(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", HOLDER, "2099-01-01T00:00:00.000000Z", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 5, { { "ray", HOLDER, "1970-01-01T00:00:00.000000Z", 15 } }, KUBERAY_RUNS, "ray" },
	};
	(void)state;

	RUN(rows);
}

static void a_lease_that_appears_later_is_suspected_at_once(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "" } }, KUBERAY_ABSENT },
		{ 5, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 5, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "ray" },
	};
	(void)state;

	RUN(rows);
}

static void while_nothing_is_read_no_lease_grows_old(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		/*
		 * There was no answer for an hour. The next one shows that the Lease was renewed.
		 */
		{ 3600, { { "ray", HOLDER, "t900", 15 } }, KUBERAY_RUNS, "ray" },
	};
	(void)state;

	RUN(rows);
}

static void a_lease_that_was_given_back_is_nobodys_until_somebody_takes_it(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", "", "t1", 15 } }, KUBERAY_ABSENT },
		{ 5, { { "ray", "", "", 1 } }, KUBERAY_ABSENT },
		{ 5, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "ray" },
		/*
		 * A Lease that was given back counts as long as one that is not renewed, because
		 * the next KubeRay may be starting.
		 */
		{ 5, { { "ray", "", "t3", 1 } }, KUBERAY_RUNS, "ray" },
		{ 55, { { "ray", "", "t3", 1 } }, KUBERAY_ABSENT },
	};
	(void)state;

	RUN(rows);
}

static void a_lease_that_was_deleted_counts_until_its_time_is_over(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
		{ 5, { { "ray", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "ray" },
		{ 5, { { "" } }, KUBERAY_RUNS, "ray" },
		{ 55, { { "" } }, KUBERAY_ABSENT },
		{ 5, { { "ray", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "ray" },
	};
	(void)state;

	RUN(rows);
}

static void of_several_leases_one_that_is_renewed_is_enough_and_is_the_witness(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "a", HOLDER, "t1", 15 }, { "b", HOLDER, "t1", 15 } }, KUBERAY_SUSPECTED, "a" },
		{ 5, { { "a", HOLDER, "t1", 15 }, { "b", HOLDER, "t2", 15 } }, KUBERAY_RUNS, "b" },
		{ 10, { { "a", HOLDER, "t1", 15 }, { "b", HOLDER, "t3", 15 } }, KUBERAY_RUNS, "b" },
	};
	(void)state;

	RUN(rows);
}

static void a_duration_is_kept_within_bounds(void **state)
{
	static const struct row rows[] = {
		{ 0, { { "a", HOLDER, "t1", INT64_MAX }, { "b", HOLDER, "t1", -1 } }, KUBERAY_SUSPECTED, "a" },
		{ 15, { { "a", HOLDER, "t1", INT64_MAX }, { "b", HOLDER, "t1", -1 } }, KUBERAY_SUSPECTED, "a" },
		{ 45, { { "a", HOLDER, "t1", INT64_MAX }, { "b", HOLDER, "t1", -1 } }, KUBERAY_ABSENT },
	};
	(void)state;

	RUN(rows);
}

static void a_holder_is_shown_without_what_is_not_printable(void **state)
{
	const struct kuberay_lease lease = { "ray", "\033[31mred\n\xc3\xa4", "t1", 15 };
	struct kuberay_sightings s = { 0 };
	(void)state;

	kuberay_saw(&s, &lease, 1, S);
	assert_string_equal(kuberay_witness(&s, S, NULL, NULL)->holder, "?[31mred?ä");
}

static void more_leases_than_have_room_count_as_a_running_kuberay(void **state)
{
	struct kuberay_lease leases[KUBERAY_LEASES_MAX + 1];
	struct kuberay_sightings s = { 0 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(leases); i++) {
		leases[i] = (struct kuberay_lease){ 0 };
		snprintf(leases[i].namespace, sizeof(leases[i].namespace), "n%zu", i);
	}
	kuberay_saw(&s, leases, KUBERAY_LEASES_MAX, S);
	assert_int_equal(s.verdict, KUBERAY_ABSENT);
	kuberay_saw(&s, leases, ARRAY_SIZE(leases), 2 * S);
	assert_int_equal(s.verdict, KUBERAY_RUNS);
	assert_null(kuberay_witness(&s, 2 * S, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_lease_kuberay_is_absent_at_once),
		cmocka_unit_test(a_lease_with_a_holder_is_waited_for_one_duration),
		cmocka_unit_test(a_lease_that_changes_between_two_looks_is_renewed_and_gone_some_durations_later),
		cmocka_unit_test(a_time_that_goes_back_is_a_renewal_as_well),
		cmocka_unit_test(a_lease_that_appears_later_is_suspected_at_once),
		cmocka_unit_test(while_nothing_is_read_no_lease_grows_old),
		cmocka_unit_test(a_lease_that_was_given_back_is_nobodys_until_somebody_takes_it),
		cmocka_unit_test(a_lease_that_was_deleted_counts_until_its_time_is_over),
		cmocka_unit_test(of_several_leases_one_that_is_renewed_is_enough_and_is_the_witness),
		cmocka_unit_test(a_duration_is_kept_within_bounds),
		cmocka_unit_test(a_holder_is_shown_without_what_is_not_printable),
		cmocka_unit_test(more_leases_than_have_room_count_as_a_running_kuberay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
