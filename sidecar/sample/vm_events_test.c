/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/sample/vm_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/macros.h"

static void oom_kills_are_found_by_their_whole_name(void **state)
{
	static const struct {
		const char *vmstat;
		int64_t kills;
	} cases[] = {
		{ "nr_free_pages 7\ndrop_slab 0\noom_kill 2315\nnuma_pte_updates 9\n", 2315 },
		{ "nr_free_pages 7\noom_kill 0\n", 0 },
		{ "nr_free_pages 7\nnot_oom_kill 5\noom_kills 6\n", -1 },
		{ "nr_free_pages 7\noom_kill\n", -1 },
		{ "", -1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(vm_events_parse_oom_kills(cases[i].vmstat), cases[i].kills);
}

static void memory_in_use_is_what_is_not_available(void **state)
{
	static const struct {
		const char *meminfo;
		struct machine_memory memory;
	} cases[] = {
		{ "MemTotal:  64 kB\nMemFree: 1 kB\nMemAvailable:    24 kB\n", { 64 * 1024, 40 * 1024 } },
		{ "MemTotal: 64 kB\nMemAvailable: 24 kB\nHugetlb:  30 kB\n", { 64 * 1024, 10 * 1024 } },
		{ "MemTotal: 64 kB\nMemAvailable: 24 kB\nHugetlb:  41 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemFree: 1 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemAvailable: 65 kB\n", { 0, 0 } },
		{ "MemTotal: 64 kB\nMemAvailable: -1 kB\n", { 0, 0 } },
		{ "MemTotal: many kB\nMemAvailable: 1 kB\n", { 0, 0 } },
		{ "MemTotal: 99999999999999999999 kB\nMemAvailable: 1 kB\n", { 0, 0 } },
		{ "", { 0, 0 } },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine_memory memory;

		vm_events_parse_memory(cases[i].meminfo, &memory);
		assert_int_equal(memory.total, cases[i].memory.total);
		assert_int_equal(memory.used, cases[i].memory.used);
	}
}

static void this_machine_counts(void **state)
{
	struct machine_memory memory;
	(void)state;

	vm_events_memory(&memory);
	assert_true(memory.total > memory.used && memory.used > 0);
	assert_true(vm_events_oom_kills() >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oom_kills_are_found_by_their_whole_name),
		cmocka_unit_test(memory_in_use_is_what_is_not_available),
		cmocka_unit_test(this_machine_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
