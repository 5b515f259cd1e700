/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how pods share the dumps that the kernel allows at a time. */
#include "node/core_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/units.h"

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

static const char *uid_of(unsigned int pod)
{
	static char uid[40];

	snprintf(uid, sizeof(uid), "%08x-29e1-478b-b365-4cb5dfc7d6fb", pod);
	return uid;
}

static int take(unsigned int pod, unsigned int pipe_limit)
{
	return core_slot_take(directory, uid_of(pod), pipe_limit, NULL);
}

static bool is_wanted(int fd)
{
	return core_slot_is_wanted(&(struct core_slot){ .fd = fd }, 1);
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
		unsigned int n = 0;
		int held[64];

		/* A pod that has no slot would wait for one, so the others ask. */
		for (unsigned int pod = 0; n < rows[i].of_all; pod++) {
			for (unsigned int k = 0; k < rows[i].of_pod; k++) {
				held[n++] = take(pod, rows[i].limit);
				assert_true(held[n - 1] >= 0);
			}
			assert_int_equal(take(pod, rows[i].limit), -EBUSY);
		}
		assert_int_equal(n, rows[i].of_all);
		while (n > 0)
			close(held[--n]);
	}
}

/* Takes a slot in a process of its own, which ends by 0 if it got one. */
static pid_t begin_to_take(const char *uid)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* Our slots are ours as long as one process has their files open. */
		for (int fd = STDERR_FILENO + 1; fd < 100; fd++)
			close(fd);
		_exit(core_slot_take(directory, uid, 16, NULL) >= 0 ? 0 : 1);
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void a_pod_that_finds_all_taken_waits_and_is_the_next(void **state)
{
	int held[8], fd;
	pid_t victim;
	(void)state;

	for (unsigned int i = 0; i < 8; i++)
		held[i] = take(i / 2, 16);
	/* A pod that has a slot is not heard, and does not wait. */
	assert_int_equal(take(0, 16), -EBUSY);
	assert_false(is_wanted(held[0]));
	victim = begin_to_take(VICTIM);
	while (!is_wanted(held[0]))
		usleep(1000);
	/*
	 * The pod that has a slot gives it back then. It does not get it again before the pod that
	 * waits.
	 */
	close(held[0]);
	assert_int_equal(end_of(victim), 0);
	fd = take(0, 16);
	assert_true(fd >= 0);
	assert_false(is_wanted(fd));
	assert_true(is_wanted(held[1]));
	close(fd);
	for (unsigned int i = 1; i < 8; i++)
		close(held[i]);
}

static void a_quarter_of_what_the_kernel_allows_may_wait(void **state)
{
	int held[8], status;
	int64_t began_ns;
	char uid[40];
	(void)state;

	for (unsigned int i = 0; i < 8; i++)
		held[i] = take(i, 16);
	began_ns = now_boottime_ns();
	for (unsigned int i = 0; i < 6; i++) {
		snprintf(uid, sizeof(uid), "%08x-0000-0000-0000-000000000000", i);
		begin_to_take(uid);
	}
	for (unsigned int i = 0; i < 6; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(WEXITSTATUS(status), 1);
		assert_int_equal(now_boottime_ns() - began_ns >= CORE_SLOT_WAIT_S * NS_PER_SEC,
				 i >= 2);
	}
	for (unsigned int i = 0; i < 8; i++)
		close(held[i]);
}

/* The pod gives the slot back now. For part_ns another one may have wanted it. */
static void give_back(unsigned int pod, int fd, int64_t part_ns)
{
	struct core_slot slot = { .fd = fd, .since_ns = 9 * CORE_SLOTS_SHARE_S * NS_PER_SEC };
	int64_t now_ns = slot.since_ns + part_ns;

	core_slot_is_wanted(&slot, now_ns);
	core_slot_account(directory, uid_of(pod), &slot, now_ns);
	close(fd);
}

static void a_pod_that_held_dumps_for_too_long_goes_without_while_others_do_not(void **state)
{
	const int64_t share_ns = CORE_SLOTS_SHARE_S * NS_PER_SEC;
	int held[8], slot;
	(void)state;

	slot = take(1, 16);
	/* Nobody else wanted it: that costs nothing. */
	give_back(1, slot, share_ns);
	for (unsigned int i = 0; i < 8; i++)
		held[i] = take(1 + i / 2, 16);
	assert_true(held[0] >= 0);
	assert_int_equal(end_of(begin_to_take(VICTIM)), 1);
	give_back(1, held[0], share_ns / 2);
	give_back(2, held[2], share_ns - 1);
	give_back(1, held[1], share_ns / 2);
	/* What it held before others wanted it costs nothing either. */
	give_back(3, held[4], share_ns / 3);
	give_back(3, held[5], share_ns / 3);
	for (unsigned int i = 3; i < 8; i++)
		if (i != 4 && i != 5)
			close(held[i]);
	assert_int_equal(take(1, 16), -EBUSY);
	/* Where the kernel has no limit, it takes nothing from anybody. */
	slot = take(1, 0);
	assert_true(slot >= 0);
	close(slot);
	for (unsigned int pod = 2; pod <= 3; pod++) {
		slot = take(pod, 16);
		assert_true(slot >= 0);
		close(slot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_pod_takes_the_slots_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(pods_hold_half_of_what_the_kernel_allows, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_pod_that_finds_all_taken_waits_and_is_the_next,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_quarter_of_what_the_kernel_allows_may_wait, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_pod_that_held_dumps_for_too_long_goes_without_while_others_do_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
