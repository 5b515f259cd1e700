/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of classes and of signal names. */
#include "lib/failure_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/linux_signals.h"
#include "lib/macros.h"

static void every_class_has_a_name_of_its_own_that_leads_back_to_it(void **state)
{
	(void)state;
	for (int c = 0; c < FAILURE_CLASS_COUNT; c++) {
		assert_int_equal(failure_class_from_name(failure_class_name((enum failure_class)c)),
				 c);
		assert_true(strlen(failure_class_meaning((enum failure_class)c)) > 5);
	}
}

static void what_is_no_class_has_no_number(void **state)
{
	static const char *const rows[] = { "",		 "killed", "Killed ",
					    "KernelOOM", "\xff",   "Unknown\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(failure_class_from_name(rows[i]), -1);
	assert_int_equal(confidence_from_name("Certain"), -1);
	assert_int_equal(confidence_from_name(""), -1);
	assert_int_equal(confidence_from_name(NULL), -1);
	assert_int_equal(failure_class_from_name(NULL), -1);
	assert_false(failure_class_is_oom(-1));
	assert_true(failure_class_is_oom(FAILURE_KERNEL_OOM_POD));
	assert_false(failure_class_is_oom(FAILURE_KERNEL_OOM_PROCESS));
}

static void confidences_lead_back_from_their_names(void **state)
{
	(void)state;
	for (int c = CONFIDENCE_CERTAIN; c <= CONFIDENCE_UNKNOWN; c++)
		assert_int_equal(confidence_from_name(confidence_name((enum confidence)c)), c);
}

static void class_names_are_fit_for_files_labels_and_crd_enums(void **state)
{
	(void)state;
	for (int c = 0; c < FAILURE_CLASS_COUNT; c++) {
		const char *name = failure_class_name((enum failure_class)c);

		assert_in_range(strlen(name), 3, 63);
		assert_int_equal(
			strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
			strlen(name));
	}
}

static void death_by_a_signal_has_the_class_of_that_signal(void **state)
{
	static const struct {
		int signo;
		enum failure_class class;
	} rows[] = {
		{ SIGINT, FAILURE_INTERRUPTED },   { SIGKILL, FAILURE_KILLED },
		{ SIGSEGV, FAILURE_SEGFAULT },     { SIGABRT, FAILURE_ABORT },
		{ SIGBUS, FAILURE_BUS_ERROR },     { SIGILL, FAILURE_ILLEGAL_INSTRUCTION },
		{ SIGFPE, FAILURE_ARITHMETIC_ERROR }, { SIGTRAP, FAILURE_TRAP },
		{ SIGTERM, FAILURE_TERMINATED },   { SIGHUP, FAILURE_SIGNALED },
		{ SIGPIPE, FAILURE_SIGNALED },     { SIGSYS, FAILURE_SIGNALED },
		{ 32, FAILURE_SIGNALED },          { 40, FAILURE_SIGNALED }  ,
		{ SIGCHLD, FAILURE_UNKNOWN },      { SIGSTOP, FAILURE_UNKNOWN },
		{ 65, FAILURE_UNKNOWN },
		{ 0, FAILURE_UNKNOWN },            { -9, FAILURE_UNKNOWN },
		{ 64, FAILURE_SIGNALED },          { 1000, FAILURE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(failure_class_of_signal(rows[i].signo), rows[i].class);
}

static void six_signals_are_those_of_a_crash(void **state)
{
	(void)state;
	for (int signo = -1; signo <= 66; signo++) {
		enum failure_class class = failure_class_of_signal(signo);
		bool of_person = class == FAILURE_INTERRUPTED || class == FAILURE_KILLED ||
				 class == FAILURE_TERMINATED;

		assert_int_equal(signal_is_of_crash(signo), !of_person &&
								    class != FAILURE_SIGNALED &&
								    class != FAILURE_UNKNOWN);
	}
}

static void signals_of_no_class_of_their_own_say_when_a_process_gets_them(void **state)
{
	(void)state;
	for (int signo = -1; signo <= 66; signo++) {
		const char *meaning = signal_meaning(signo);

		assert_int_equal(meaning != NULL,
				 failure_class_of_signal(signo) == FAILURE_SIGNALED);
		if (meaning)
			assert_memory_equal(meaning, "when ", 5);
	}
}

static void signals_have_the_names_that_kill_l_prints(void **state)
{
	static const struct {
		int signo;
		const char *name;
	} rows[] = {
		{ 1, "SIGHUP" }, { 9, "SIGKILL" }, { 11, "SIGSEGV" }, { 31, "SIGSYS" }, { 32, "SIG32" },
		{ 33, "SIG33" }, { 34, "SIGRTMIN+0" }, { 64, "SIGRTMIN+30" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(signal_name(rows[i].signo), rows[i].name);
	for (int signo = 1; signo <= 64; signo++)
		assert_memory_equal(signal_name(signo), "SIG", 3);
	assert_null(signal_name(0));
	assert_null(signal_name(-1));
	assert_null(signal_name(65));
	assert_null(signal_name(INT32_MAX));
}

static void the_table_of_signals_is_that_of_linux(void **state)
{
#define LINUX_SIGNAL(name, number) { LINUX_SIG##name, SIG##name },
	static const int rows[][2] = { LINUX_SIGNALS(LINUX_SIGNAL) };

	(void)state;
	assert_int_equal(ARRAY_SIZE(rows), LINUX_SIGSYS);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[32];

		assert_int_equal(rows[i][0], rows[i][1]);
		assert_int_equal(rows[i][0], i + 1);
		snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(rows[i][1]));
		assert_string_equal(signal_name(rows[i][0]), name);
	}
	assert_int_equal(LINUX_SIGRTMIN, SIGRTMIN);
	assert_int_equal(LINUX_SIGRTMAX, SIGRTMAX);
}

static void what_only_kubernetes_knows_is_no_class_of_a_process(void **state)
{
	(void)state;
	assert_false(failure_class_is_of_process(FAILURE_EVICTED));
	assert_false(failure_class_is_of_process(FAILURE_NODE_LOST));
	assert_false(failure_class_is_of_process(FAILURE_KERNEL_OOM_CONTAINER));
	assert_false(failure_class_is_of_process(FAILURE_COMPLETED));
	assert_true(failure_class_is_of_process(FAILURE_KERNEL_OOM_PROCESS));
	assert_true(failure_class_is_of_process(FAILURE_SEGFAULT));
	assert_true(failure_class_is_of_process(FAILURE_UNKNOWN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_class_has_a_name_of_its_own_that_leads_back_to_it),
		cmocka_unit_test(what_is_no_class_has_no_number),
		cmocka_unit_test(confidences_lead_back_from_their_names),
		cmocka_unit_test(class_names_are_fit_for_files_labels_and_crd_enums),
		cmocka_unit_test(death_by_a_signal_has_the_class_of_that_signal),
		cmocka_unit_test(six_signals_are_those_of_a_crash),
		cmocka_unit_test(the_table_of_signals_is_that_of_linux),
		cmocka_unit_test(signals_of_no_class_of_their_own_say_when_a_process_gets_them),
		cmocka_unit_test(signals_have_the_names_that_kill_l_prints),
		cmocka_unit_test(what_only_kubernetes_knows_is_no_class_of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
