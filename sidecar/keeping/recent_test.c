/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of values that an errand looks up from time to time. A pipe to which nothing was written
 * stands for a disk that hangs.
 */
#include "sidecar/keeping/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

#define SPACING_NS (10 * NS_PER_SEC)

static int ends[2];

static void read_from_disk(const void *arg, void *out)
{
	char byte;

	*(int *)out = read(*(const int *)arg, &byte, 1) == 1 ? byte : -1;
}

static int setup(void **state)
{
	(void)state;
	return pipe(ends);
}

static int teardown(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void look(struct recent *r, int *value, int64_t now_ns)
{
	recent_look(r, read_from_disk, &ends[0], value, sizeof(*value), now_ns);
}

/* The errand of a look that hung returns some time after the disk answers. */
static void look_until(struct recent *r, int *value, int expected, int64_t now_ns)
{
	for (int i = 0; *value != expected && i < 6000; i++) {
		usleep(10000);
		look(r, value, now_ns);
	}
	assert_int_equal(*value, expected);
}

static void between_two_looks_the_value_stays(void **state)
{
	struct recent r = RECENT(SPACING_NS);
	int value = 0;
	(void)state;

	assert_int_equal(write(ends[1], "ab", 2), 2);
	look(&r, &value, NS_PER_SEC);
	look_until(&r, &value, 'a', NS_PER_SEC);
	look(&r, &value, SPACING_NS);
	assert_int_equal(value, 'a');
	look(&r, &value, NS_PER_SEC + SPACING_NS);
	look_until(&r, &value, 'b', NS_PER_SEC + SPACING_NS);
	recent_release(&r);
}

static void a_disk_that_hangs_is_known_and_its_late_answer_counts(void **state)
{
	struct recent r = RECENT(0);
	int64_t began_ns = now_boottime_ns();
	int value = 7;
	(void)state;

	look(&r, &value, began_ns);
	assert_int_equal(value, 7);
	assert_false(recent_hangs(&r, r.errand.since_ns + NS_PER_SEC));
	assert_true(recent_hangs(&r, r.errand.since_ns + 3 * NS_PER_SEC));
	assert_int_equal(write(ends[1], "c", 1), 1);
	look_until(&r, &value, 'c', began_ns);
	recent_release(&r);
	assert_false(recent_hangs(&r, r.errand.since_ns + 9 * NS_PER_SEC));
}

static void an_answer_that_nobody_took_yet_is_no_hang_and_is_not_lost(void **state)
{
	struct recent r = RECENT(SPACING_NS);
	siginfo_t info;
	int value = 0;
	(void)state;

	assert_int_equal(write(ends[1], "a", 1), 1);
	look(&r, &value, NS_PER_SEC);
	assert_int_equal(waitid(P_PID, (id_t)r.errand.pid, &info, WEXITED | WNOWAIT), 0);
	assert_false(recent_hangs(&r, r.errand.since_ns));
	look(&r, &value, 2 * NS_PER_SEC);
	assert_int_equal(value, 'a');
	recent_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(between_two_looks_the_value_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_disk_that_hangs_is_known_and_its_late_answer_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_answer_that_nobody_took_yet_is_no_hang_and_is_not_lost, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
