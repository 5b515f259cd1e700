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

static void this_machine_counts(void **state)
{
	(void)state;
	assert_true(vm_events_oom_kills() >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oom_kills_are_found_by_their_whole_name),
		cmocka_unit_test(this_machine_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
