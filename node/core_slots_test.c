/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how pods share the dumps that the kernel allows at a time. */
#include "node/core_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"

#define PODS 250
#define VICTIM "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb"

static char directory[64];

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/core_slots_test.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static int take(unsigned int pod, unsigned int pipe_limit)
{
	char uid[40];

	snprintf(uid, sizeof(uid), "%08x-29e1-478b-b365-4cb5dfc7d6fb", pod);
	return core_slot_take(directory, uid, pipe_limit, NULL);
}

static void no_pod_takes_the_slots_of_another(void **state)
{
	int held[PODS * CORE_SLOTS_OF_POD], own[CORE_SLOTS_OF_POD], fd;
	(void)state;

	for (unsigned int i = 0; i < ARRAY_SIZE(held); i++) {
		held[i] = take(i % PODS, 0);
		assert_true(held[i] >= 0);
	}
	assert_int_equal(take(7, 0), -EBUSY);
	for (int i = 0; i < CORE_SLOTS_OF_POD; i++) {
		own[i] = core_slot_take(directory, VICTIM, 0, NULL);
		assert_true(own[i] >= 0);
	}
	assert_int_equal(core_slot_take(directory, VICTIM, 0, NULL), -EBUSY);
	close(held[7]);
	fd = take(7, 0);
	assert_true(fd >= 0);
	close(fd);
	for (unsigned int i = 0; i < ARRAY_SIZE(held); i++)
		close(held[i]);
	for (int i = 0; i < CORE_SLOTS_OF_POD; i++)
		close(own[i]);
}

static void pods_hold_half_of_what_the_kernel_allows(void **state)
{
	static const struct {
		unsigned int limit, of_all, of_pod;
	} rows[] = { { 1, 1, 1 }, { 2, 1, 1 }, { 4, 2, 1 }, { 16, 8, 2 }, { 64, 32, 4 } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int of_pod = 0, of_all = 0;
		int held[64];

		for (unsigned int n = 0; n < 64; n++) {
			held[n] = take(n / 4, rows[i].limit);
			of_pod += n < 4 && held[n] >= 0;
			of_all += held[n] >= 0;
		}
		assert_int_equal(of_pod, rows[i].of_pod);
		assert_int_equal(of_all, rows[i].of_all);
		for (unsigned int n = 0; n < 64; n++)
			closep(&held[n]);
	}
}

static void a_pod_that_finds_all_taken_ends_the_patience_with_the_others(void **state)
{
	int held[8], fd;
	(void)state;

	for (unsigned int i = 0; i < 8; i++)
		held[i] = take(i / 2, 16);
	/* A pod that has a slot is not heard. */
	assert_int_equal(take(0, 16), -EBUSY);
	assert_false(core_slot_is_wanted(held[0]));
	assert_int_equal(core_slot_take(directory, VICTIM, 16, NULL), -EBUSY);
	for (unsigned int i = 0; i < 8; i++)
		assert_true(core_slot_is_wanted(held[i]));
	close(held[0]);
	fd = core_slot_take(directory, VICTIM, 16, NULL);
	assert_true(fd >= 0);
	assert_false(core_slot_is_wanted(fd));
	close(fd);
	for (unsigned int i = 1; i < 8; i++)
		close(held[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_pod_takes_the_slots_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(pods_hold_half_of_what_the_kernel_allows, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_that_finds_all_taken_ends_the_patience_with_the_others, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
