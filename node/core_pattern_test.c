/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the value of kernel.core_pattern while the agent takes the cores. */
#include "node/core_pattern.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define OURS "|/var/lib/afterglow/afterglow-core1 %P %s %c %d"

/* Patterns that are found on real nodes. */
static const char *const befores[] = {
	"core", "", "core.%p", "/core.%e.%p.%t", "/var/crash/%h/core.%e", "|/bin/false",
	"|/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h",
	"|/usr/lib/systemd/systemd-coredump %P %u %g %s %t %c %h %d %F",
	"|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -- %E",
	"|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -F%F -- %E",
	"| /opt/program %d",
};

static void the_value_from_before_comes_back_unchanged(void **state)
{
	char pattern[CORE_PATTERN_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(befores); i++) {
		const char *back;

		assert_int_equal(core_pattern_make("/var/lib/afterglow", befores[i], pattern, NULL),
				 0);
		back = core_pattern_before(pattern);
		assert_non_null(back);
		assert_string_equal(back, befores[i]);
		assert_null(core_pattern_before(befores[i]));
	}
}

static void the_kernel_adds_a_pid_only_to_a_name_without_one(void **state)
{
	char pattern[CORE_PATTERN_MAX + 1];

	(void)state;
	core_pattern_make("/var/lib/afterglow", "core", pattern, NULL);
	assert_string_equal(pattern, OURS "u core");
	core_pattern_make("/var/lib/afterglow", "", pattern, NULL);
	assert_string_equal(pattern, OURS "u");
	core_pattern_make("/var/lib/afterglow", "core.%p", pattern, NULL);
	assert_string_equal(pattern, OURS " core.%p");
	core_pattern_make("/var/lib/afterglow", "|/bin/false", pattern, NULL);
	assert_string_equal(pattern, OURS " |/bin/false");
}

static void a_pattern_of_another_version_or_directory_is_known_as_ours(void **state)
{
	(void)state;
	assert_string_equal(core_pattern_before("|/opt/a/afterglow-core2 %P %F %d |/bin/x %d"),
			    "|/bin/x %d");
	assert_string_equal(core_pattern_before("|/afterglow-core1 %P %s %c %du core"), "core");
}

static void what_only_looks_like_ours_is_not(void **state)
{
	static const char *const others[] = {
		"", "|", "core", "afterglow-core1 %d x", "/afterglow-core1 %d x", "|afterglow-core1 %d x", "|/a/afterglow-core1",
		"|/a/afterglow-core1/program %d x", "|/bin/program /afterglow-core1 %d x", "|/bin/false",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(core_pattern_before(others[i]));
}

static void what_cannot_be_kept_whole_is_refused_with_its_reason(void **state)
{
	static const struct {
		const char *before, *reason;
	} rows[] = {
		{ "@/run/coredump.socket", "socket" },
		{ "@@/run/coredump.socket", "socket" },
		{ "my core", "blanks" },
		{ "/a\tcore", "blanks" },
		{ "|/usr/local/libexec/a-program-with-a-long-name %P %u %g %s %t %c %h %d %e and more of it", "127" },
	};
	char pattern[CORE_PATTERN_MAX + 1] = "unset";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		assert_int_equal(
			core_pattern_make("/var/lib/afterglow", rows[i].before, pattern, &err),
			-ENOTSUP);
		assert_non_null(strstr(err_text(&err), rows[i].reason));
		assert_string_equal(pattern, "unset");
	}
}

static void arguments_are_those_of_the_kernel(void **state)
{
	char *const argv[] = {
		"/d/afterglow-core1", "123", "11", "18446744073709551615", "1", "|/bin/x", "a", NULL
	};
	struct core_arguments a;

	(void)state;
	assert_int_equal(core_arguments_parse(argv, &a, NULL), 0);
	assert_int_equal(a.pid, 123);
	assert_int_equal(a.signal, 11);
	assert_true(a.limit == UINT64_MAX);
	assert_int_equal(a.dumpable, 1);
	assert_false(a.may_add_pid);
	assert_ptr_equal(a.before, argv + 5);
}

static void other_arguments_are_refused(void **state)
{
	static char *const rows[][6] = {
		{ "x", NULL },
		{ "x", "1", "2", "3", NULL },
		{ "x", "0", "11", "0", "1", NULL },
		{ "x", "-1", "11", "0", "1", NULL },
		{ "x", "", "11", "0", "1", NULL },
		{ "x", "99999999999", "11", "0", "1", NULL },
		{ "x", "1", "65", "0", "1", NULL },
		{ "x", "1", "11", "18446744073709551616", "1", NULL },
		{ "x", "1", "11", "0", "3", NULL },
		{ "x", "1", "11", "0", "1x", NULL },
		{ "x", "1", "11", "0", "1uu", NULL },
		{ "x", "1u", "11", "0", "1", NULL },
		{ "x", " 1", "11", "0", "1", NULL },
		{ "x", "%P", "%s", "%c", "%d", NULL },
		{ NULL },
	};
	struct core_arguments a;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(core_arguments_parse(rows[i], &a, NULL), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_value_from_before_comes_back_unchanged),
		cmocka_unit_test(the_kernel_adds_a_pid_only_to_a_name_without_one),
		cmocka_unit_test(a_pattern_of_another_version_or_directory_is_known_as_ours),
		cmocka_unit_test(what_only_looks_like_ours_is_not),
		cmocka_unit_test(what_cannot_be_kept_whole_is_refused_with_its_reason),
		cmocka_unit_test(arguments_are_those_of_the_kernel),
		cmocka_unit_test(other_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
