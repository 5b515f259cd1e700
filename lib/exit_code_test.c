/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of exit codes. */
#include "lib/exit_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

static void a_code_has_a_signal_and_a_class(void **state)
{
	static const struct {
		int64_t code;
		int signo;
		enum failure_class class;
	} rows[] = {
		{ 0, 0, FAILURE_UNKNOWN },
		{ 1, 0, FAILURE_APPLICATION_ERROR },
		{ 125, 0, FAILURE_APPLICATION_ERROR },
		{ 126, 0, FAILURE_COMMAND_NOT_EXECUTABLE },
		{ 127, 0, FAILURE_COMMAND_NOT_FOUND },
		{ 128, 0, FAILURE_UNKNOWN },
		{ 129, 1, FAILURE_SIGNALED },
		{ 137, 9, FAILURE_KILLED },
		{ 139, 11, FAILURE_SEGFAULT },
		{ 147, 0, FAILURE_APPLICATION_ERROR }, /* nobody ends by SIGSTOP */
		{ 159, 31, FAILURE_SIGNALED },
		{ 160, 0, FAILURE_APPLICATION_ERROR },
		{ 168, 0, FAILURE_APPLICATION_ERROR }, /* SIGRTMIN+6, by its number */
		{ 255, 0, FAILURE_APPLICATION_ERROR },
		{ 256, 0, FAILURE_UNKNOWN },
		{ -1, 0, FAILURE_UNKNOWN },
		{ INT64_MIN, 0, FAILURE_UNKNOWN },
		{ INT64_MAX, 0, FAILURE_UNKNOWN },
		{ ((int64_t)1 << 32) + 137, 0, FAILURE_UNKNOWN },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(exit_code_signal(rows[i].code), rows[i].signo);
		assert_int_equal(exit_code_class(rows[i].code), rows[i].class);
	}
}

static void a_stop_has_two_codes_and_a_shell_without_a_command_another_two(void **state)
{
	(void)state;
	for (int64_t code = -1; code <= 256; code++) {
		assert_int_equal(exit_code_is_of_stop(code), code == 137 || code == 143);
		assert_int_equal(exit_code_is_of_shell(code), code == 126 || code == 127);
	}
}

/* failure_class.def says so to people: "SIGSEGV, exit 139". */
static void the_codes_in_the_table_of_classes_lead_to_their_classes(void **state)
{
	size_t n = 0;
	(void)state;

	for (int c = 0; c < FAILURE_CLASS_COUNT; c++) {
		const char *meaning = failure_class_meaning((enum failure_class)c),
			   *code = strstr(meaning, "exit 1");

		if (!code)
			continue;
		n++;
		assert_int_equal(exit_code_class(strtol(code + strlen("exit "), NULL, 10)), c);
		if (strncmp(meaning, "SIG", 3) == 0) {
			const char *name = signal_name(
				exit_code_signal(strtol(code + strlen("exit "), NULL, 10)));

			assert_memory_equal(meaning, name, strlen(name));
		}
	}
	assert_int_equal(n, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_has_a_signal_and_a_class),
		cmocka_unit_test(a_stop_has_two_codes_and_a_shell_without_a_command_another_two),
		cmocka_unit_test(the_codes_in_the_table_of_classes_lead_to_their_classes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
