/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/sample/large_process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

static void the_stack_and_the_limit_are_found_by_their_lines(void **state)
{
	(void)state;
	assert_int_equal(
		large_process_parse_stack("Name:\tVmStk: 7\nVmStk:\t  556032 kB\nVmExe:\t 4 kB\n"),
		556032 * 1024);
	assert_int_equal(large_process_parse_stack("Name:\ta\nVmExe:\t 4 kB\n"), -1);
	assert_int_equal(large_process_parse_stack("Name:\ta\nVmStk:\t99999999999999999999 kB\n"),
			 -1);
	assert_int_equal(large_process_parse_stack("Name:\ta\nVmStk:\t-1 kB\n"), -1);
	assert_int_equal(large_process_parse_stack(""), -1);
	assert_int_equal(
		large_process_parse_open_files(
			"Limit  Soft Limit\nMax open files            1073741816           1073741816   files\n"),
		1073741816);
	assert_int_equal(
		large_process_parse_open_files(
			"Limit\nMax open files            unlimited            unlimited   files\n"),
		-1);
	assert_int_equal(large_process_parse_open_files("Max processes 5 5\n"), -1);
}

static void our_own_process_can_be_read_and_no_process_cannot(void **state)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct large_process p;

	(void)state;
	large_process_read(root, getpid(), &p);
	assert_true(p.stack > 0 && p.open_files > 0 && p.started_ns > 0);
	large_process_read(root, 0x7fffffff, &p);
	assert_true(p.stack == -1 && p.open_files == -1 && p.started_ns == 0);
	close(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_and_the_limit_are_found_by_their_lines),
		cmocka_unit_test(our_own_process_can_be_read_and_no_process_cannot),
	};

	return cmocka_run_group_tests_name("large_process", tests, NULL, NULL);
}
