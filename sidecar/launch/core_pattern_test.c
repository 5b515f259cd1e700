/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/core_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

static void a_pattern_says_where_cores_go(void **state)
{
	static const struct {
		const char *text;
		bool uses_pid, sockets;
		enum core_target target;
		const char *rest;
	} rows[] = {
		{ "core\n", false, false, CORE_TO_RELATIVE, "core" },
		{ "core\n", true, false, CORE_TO_RELATIVE, "core.%p" },
		{ "core.%p", true, false, CORE_TO_RELATIVE, "core.%p" },
		{ "/cores/%e.%p", false, false, CORE_TO_ABSOLUTE, "/cores/%e.%p" },
		{ "|/usr/lib/systemd/systemd-coredump %P", true, false, CORE_TO_PIPE, "/usr/lib/systemd/systemd-coredump %P" },
		{ "@/run/cores.sock", false, true, CORE_TO_SOCKET, "/run/cores.sock" },
		{ "@/run/cores.sock", false, false, CORE_TO_RELATIVE, "@/run/cores.sock" },
		{ "", false, false, CORE_TO_NOTHING, "" },
		{ "\n", false, false, CORE_TO_NOTHING, "" },
		{ "", true, false, CORE_TO_RELATIVE, ".%p" },
	};
	char longest[300];
	struct core_pattern p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		core_pattern_parse(rows[i].text, rows[i].uses_pid, rows[i].sockets, &p);
		assert_int_equal(p.target, rows[i].target);
		assert_string_equal(p.text, rows[i].rest);
	}
	memset(longest, 'c', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	core_pattern_parse(longest, true, false, &p);
	assert_int_equal(strlen(p.text), CORE_PATTERN_MAX + 3);
}

static void a_name_is_matched_and_read_back(void **state)
{
	static const struct {
		const char *component, *name;
		bool matches;
		struct core_name parsed;
	} rows[] = {
		{ "core", "core", true, { 0 } },
		{ "core", "core.1", false, { 0 } },
		{ "core", "cor", false, { 0 } },
		{ "core.%p", "core.4711", true, { .pid = 4711 } },
		{ "core.%p", "core.", false, { 0 } },
		{ "core.%p", "core.47a", false, { 0 } },
		{ "core.%e.%p.%s", "core.python3.12.11", true, { .pid = 12, .signal = 11, .comm = "python3" } },
		{ "core.%e.%p.%s", "core.a.b.3.12.6", true, { .pid = 12, .signal = 6, .comm = "a.b.3" } },
		{ "core.%e.%p", "core.ray::f x.12", true, { .pid = 12, .comm = "ray::f_x" } },
		{ "%e-%p-%i-%t", "ray-1-2-1700000000", true, { .pid = 1, .tid = 2, .comm = "ray" } },
		{ "core.%P.%I.%u.%g.%d.%c.%C", "core.1.2.3.4.5.6.7", true, { 0 } },
		{ "%h.%f.%E.core", "host.prog.!usr!bin!prog.core", true, { 0 } },
		{ "100%%.%p", "100%.7", true, { .pid = 7 } },
		{ "core%z.%p", "core.7", true, { .pid = 7 } },
		{ "core.%p%", "core.7", true, { .pid = 7 } },
		{ "core%", "core", true, { 0 } },
		/* Hostile names. */
		{ "core.%p", "core.99999999999999999999", true, { 0 } },
		{ "core.%s.%p", "core.99.1", true, { .pid = 1 } },
		{ "core.%e", "core.\n;rm -rf /\x7f\xff", true, { .comm = "_;rm_-rf_/__" } },
		{ "core.%e", "core.", true, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct core_name parsed = { 0 };

		if (core_component_match(rows[i].component, rows[i].name, &parsed) !=
		    rows[i].matches)
			fail_msg("%s and %s", rows[i].component, rows[i].name);
		if (!rows[i].matches)
			continue;
		assert_int_equal(parsed.pid, rows[i].parsed.pid);
		assert_int_equal(parsed.tid, rows[i].parsed.tid);
		assert_int_equal(parsed.signal, rows[i].parsed.signal);
		assert_string_equal(parsed.comm, rows[i].parsed.comm);
	}
}

static void a_name_that_fits_in_too_many_ways_is_given_up(void **state)
{
	char name[256];
	struct core_name parsed;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_false(core_component_match("%e%h%f%E%e%h%f%E%e%h%f%Eb", name, &parsed));
}

static void a_component_without_specifiers_is_a_name(void **state)
{
	char name[CORE_PATTERN_MAX + 16];

	(void)state;
	assert_true(core_component_literal("core", name));
	assert_string_equal(name, "core");
	assert_true(core_component_literal("100%%%z!%", name));
	assert_string_equal(name, "100%!");
	assert_false(core_component_literal("core.%p", name));
	assert_false(core_component_literal("%e", name));
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/kernel/%s", directory, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void it_is_read_from_proc(void **state)
{
	char directory[] = "/tmp/core_pattern_test.XXXXXX", path[256], command[300];
	struct core_pattern p;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_false(core_pattern_read(directory, &p));
	snprintf(path, sizeof(path), "%s/sys", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sys/kernel", directory);
	mkdir(path, 0700);
	write_file(directory, "core_pattern", "@/run/cores\n");
	assert_true(core_pattern_read(directory, &p));
	assert_int_equal(p.target, CORE_TO_RELATIVE);
	write_file(directory, "core_uses_pid", "1\n");
	assert_true(core_pattern_read(directory, &p));
	assert_string_equal(p.text, "@/run/cores.%p");
	write_file(directory, "core_modes", "file\npipe\nsocket\n");
	assert_true(core_pattern_read(directory, &p));
	assert_int_equal(p.target, CORE_TO_SOCKET);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_says_where_cores_go),
		cmocka_unit_test(a_name_is_matched_and_read_back),
		cmocka_unit_test(a_name_that_fits_in_too_many_ways_is_given_up),
		cmocka_unit_test(a_component_without_specifiers_is_a_name),
		cmocka_unit_test(it_is_read_from_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
