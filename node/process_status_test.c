/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading a process's rights and names from /proc/PID/status. */
#include "node/process_status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define REST "Tgid:\t4711\nUid:\t1\t2\t3\t1000\nGid:\t1\t2\t3\t100\nGroups:\t4 24 1000 \nNSpid:\t4711\t7\nCapEff:\t00000000a80425fb\n"

static void it_takes_what_files_are_opened_with(void **state)
{
	struct process_status s;

	(void)state;
	assert_int_equal(process_status_parse("Name:\tray::IDLE\n" REST, &s, NULL), 0);
	assert_int_equal(s.fsuid, 1000);
	assert_int_equal(s.fsgid, 100);
	assert_int_equal(s.n_groups, 3);
	assert_int_equal(s.groups[2], 1000);
	assert_int_equal(s.own_pid, 7);
	assert_true(s.capabilities == 0xa80425fb);
	assert_string_equal(s.comm, "ray::IDLE");
}

static void a_nested_pid_namespace_is_not_the_containers(void **state)
{
	static const struct {
		const char *pids;
		pid_t own, container;
	} rows[] = { { "4711", 4711, 4711 },
		     { "4711\t7", 7, 7 },
		     { "4711\t7\t2", 2, 0 },
		     { "4711\t7\t2\t1", 1, 0 } };
	struct process_status s;
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(
			text, sizeof(text),
			"Name:\tx\nTgid:\t4711\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\nNSpid:\t%s\nCapEff:\t0\n",
			rows[i].pids);
		assert_int_equal(process_status_parse(text, &s, NULL), 0);
		assert_int_equal(s.own_pid, rows[i].own);
		assert_int_equal(s.container_pid, rows[i].container);
	}
}

static void a_hostile_name_stays_one_word(void **state)
{
	static const struct {
		const char *text, *comm;
	} rows[] = {
		{ "Name:\t\n" REST, "-" },
		{ "Name:\tfoo) Z  1\n" REST, "foo)?Z??1" },
		/* the kernel escapes newlines */
		{ "Name:\tx\\nUid:\t0\t0\t0\t0\n" REST, "x\\nUid:?0?0?0?0" },
		{ "Name:\t\xff\x01\n" REST, "??" },
		{ REST, "-" },
	};
	struct process_status s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(process_status_parse(rows[i].text, &s, NULL), 0);
		assert_string_equal(s.comm, rows[i].comm);
		assert_int_equal(s.fsuid, 1000);
	}
}

static void what_is_missing_or_malformed_is_an_error(void **state)
{
	static const char *const rows[] = {
		"",
		"Name:\tx\n",
		"Tgid:\t1\nUid:\t1\t2\t3\nGid:\t1\t2\t3\t4\nGroups:\t\nNSpid:\t1\nCapEff:\t0\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\tx\nNSpid:\t1\nCapEff:\t0\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\t\nNSpid:\t0\nCapEff:\t0\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\t\nNSpid:\t1\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4294967296\nGroups:\t\nNSpid:\t1\nCapEff:\t0\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t-1\nGid:\t1\t2\t3\t4\nGroups:\t\nNSpid:\t1\nCapEff:\t0\n",
		"Tgid:\t1\nUid:\t1\t2\t3\t4\nGid:\t1\t2\t3\t4\nGroups:\t\nNSpid:\t1\nCapEff:\tfffffffffffffffff\n",
	};
	struct process_status s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(process_status_parse(rows[i], &s, NULL), -EPROTO);
}

static void our_own_is_as_the_kernel_says(void **state)
{
	struct process_status s;

	(void)state;
	assert_int_equal(process_status_read("/proc", getpid(), &s, NULL), 0);
	assert_int_equal(s.fsuid, geteuid());
	assert_int_equal(s.own_pid, getpid());
	assert_int_equal(s.n_groups, getgroups(0, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_what_files_are_opened_with),
		cmocka_unit_test(a_nested_pid_namespace_is_not_the_containers),
		cmocka_unit_test(a_hostile_name_stays_one_word),
		cmocka_unit_test(what_is_missing_or_malformed_is_an_error),
		cmocka_unit_test(our_own_is_as_the_kernel_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
