/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/crash/core_route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void the_sentence_says_where_cores_go_and_what_would_change_that(void **state)
{
	static const struct {
		const char *pattern; /* NULL: unreadable */
		bool capturing, status_known, dumped;
		const char *has[3];
	} rows[] = {
		{ "core", false, true, true, { "--cores summary", "recording.coreDumps" } },
		{ NULL, true, true, true, { "core_pattern" } },
		{ "|/usr/lib/systemd/systemd-coredump %P %u", true, true, true,
		  { "pipes them to /usr/lib/systemd/systemd-coredump, outside", "kernel.core_pattern=core" } },
		{ "|/var/lib/afterglow/afterglow-core1 %P %s %c %d |/bin/false", true, true, true, { "the node agent", "hostPID" } },
		{ "|/bin/false", true, true, false, { "pipes them to /bin/false," } },
		{ "@/run/systemd/coredump.sock", true, true, true, { "the socket /run/systemd/coredump.sock", "kernel.core_pattern=core" } },
		{ "@@/run/c", true, true, true, { "the socket /run/c of" } },
		{ "", true, true, false, { "empty" } },
		{ "core", true, true, false, { "ulimit -c", "working directory" } },
		{ "/cores/%e.%p", true, true, false, { "/cores/%e.%p could not be written to" } },
		{ "/cores/%e.%p", true, true, true, { "puts at /cores/%e.%p in the container" } },
		{ "core.%p", true, false, false, { "\"core.%p\"", "not found" } },
	};
	char text[CORE_NEEDS_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct core_pattern p;

		if (rows[i].pattern)
			core_pattern_parse(rows[i].pattern, false, true, &p);
		core_route_needs(rows[i].pattern ? &p : NULL, rows[i].capturing,
				 rows[i].status_known, rows[i].dumped, text, sizeof(text));
		for (size_t j = 0; j < 3 && rows[i].has[j]; j++)
			if (!strstr(text, rows[i].has[j]))
				fail_msg("row %zu: \"%s\" lacks \"%s\"", i, text, rows[i].has[j]);
	}
}

static void the_longest_pattern_fits(void **state)
{
	char pattern[CORE_PATTERN_MAX + 1], text[CORE_NEEDS_MAX];
	struct core_pattern p;

	(void)state;
	memset(pattern, 'x', sizeof(pattern) - 1);
	pattern[CORE_PATTERN_MAX] = '\0';
	for (const char *first = "|@/x"; *first; first++) {
		pattern[0] = *first;
		core_pattern_parse(pattern, false, true, &p);
		core_route_needs(&p, true, true, false, text, sizeof(text));
		assert_true(strlen(text) < sizeof(text) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sentence_says_where_cores_go_and_what_would_change_that),
		cmocka_unit_test(the_longest_pattern_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
