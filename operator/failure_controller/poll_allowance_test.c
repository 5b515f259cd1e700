/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how many RayFailures a pod may cause. */
#include "operator/failure_controller/poll_allowance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define START (1000 * NS_PER_SEC)

static unsigned spend_all(struct poll_allowance *a, int64_t now_ns)
{
	unsigned n = 0;

	while (poll_allowance_spend(a, now_ns))
		n++;
	return n;
}

static void a_pod_may_cause_a_journal_at_once_and_then_one_failure_a_minute(void **state)
{
	struct poll_allowance a;
	(void)state;

	poll_allowance_init(&a, START);
	assert_int_equal(spend_all(&a, START), POLL_ALLOWANCE_MAX);
	assert_int_equal(spend_all(&a, START + POLL_ALLOWANCE_REFILL_NS - 1), 0);
	assert_int_equal(spend_all(&a, START + POLL_ALLOWANCE_REFILL_NS), 1);
	/* The rest of a minute still counts. */
	assert_int_equal(spend_all(&a, START + 5 * POLL_ALLOWANCE_REFILL_NS / 2), 1);
	assert_int_equal(spend_all(&a, START + 3 * POLL_ALLOWANCE_REFILL_NS), 1);
}

static void a_pod_that_was_quiet_for_days_may_cause_no_more_than_a_new_pod(void **state)
{
	struct poll_allowance a;
	(void)state;

	poll_allowance_init(&a, START);
	spend_all(&a, START);
	assert_int_equal(spend_all(&a, START + 100000 * POLL_ALLOWANCE_REFILL_NS),
			 POLL_ALLOWANCE_MAX);
}

static void a_clock_that_stands_still_or_goes_back_gives_nothing(void **state)
{
	struct poll_allowance a;
	(void)state;

	poll_allowance_init(&a, START);
	spend_all(&a, START);
	assert_int_equal(spend_all(&a, START), 0);
	assert_int_equal(spend_all(&a, 0), 0);
	assert_int_equal(spend_all(&a, START + POLL_ALLOWANCE_REFILL_NS), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_may_cause_a_journal_at_once_and_then_one_failure_a_minute),
		cmocka_unit_test(a_pod_that_was_quiet_for_days_may_cause_no_more_than_a_new_pod),
		cmocka_unit_test(a_clock_that_stands_still_or_goes_back_gives_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
