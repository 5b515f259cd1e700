/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/core_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

#define GIB (1ULL << 30)
#define MOST (4 * GIB)

static void a_core_takes_a_share_of_the_disk_and_nothing_of_the_memory(void **state)
{
	static const struct {
		struct core_place place;
		bool memory;
		rlim_t want;
	} rows[] = {
		{ { 0 }, false, MOST }, /* a pipe, or a directory that is not there */
		{ { .known = true, .free_bytes = 100 * GIB }, false, MOST },
		{ { .known = true, .free_bytes = 32 * GIB }, false, MOST },
		{ { .known = true, .free_bytes = 8 * GIB }, false, GIB },
		{ { .known = true, .free_bytes = 8 * GIB }, true, GIB },
		{ { .known = true, .free_bytes = 7 }, false, 0 },
		{ { .known = true, .free_bytes = 0 }, false, 0 },
		{ { .known = true, .in_memory = true, .free_bytes = 100 * GIB }, false, 0 },
		{ { .known = true, .in_memory = true, .free_bytes = GIB }, true, MOST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(core_limit(&rows[i].place, MOST, rows[i].memory), rows[i].want);
}

static struct core_place place_of(const char *text)
{
	struct core_pattern pattern;

	core_pattern_parse(text, false, true, &pattern);
	return core_place_find(&pattern);
}

static void the_place_is_where_the_pattern_leads(void **state)
{
	static const struct {
		const char *pattern;
		bool known, in_memory;
	} rows[] = {
		{ "core", true, true },
		{ "core.%p", true, true },
		{ "%e/core", true, true },
		{ "sub/%e/core.%p", true, true },
		{ "no/such/core", false, false },
		{ "/proc/core.%p", true, false },
		{ "/%e/core", true, false },
		{ "|/bin/false", false, false },
		{ "@/run/socket", false, false },
		{ "", false, false },
	};
	char directory[] = "/tmp/core_limit_test.XXXXXX";

	(void)state;
	if (!mkdtemp(directory))
		fail();
	if (mount("tmpfs", directory, "tmpfs", 0, "size=1m") < 0) {
		rmdir(directory);
		skip();
	}
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkdir("sub", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct core_place place = place_of(rows[i].pattern);

		if (place.known != rows[i].known || place.in_memory != rows[i].in_memory)
			fail_msg("%s: known %d, in memory %d", rows[i].pattern, place.known,
				 place.in_memory);
	}
	assert_int_equal(chdir("/"), 0);
	umount(directory);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_core_takes_a_share_of_the_disk_and_nothing_of_the_memory),
		cmocka_unit_test(the_place_is_where_the_pattern_leads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
