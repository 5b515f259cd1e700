/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the order in which bundles are kept. */
#include "sidecar/keeping/keeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/loop/timer.h"

static struct event_base *base;
static struct keeper *keeper;
static const struct kept *order[3];
static size_t n_done;

static void on_done(const struct err *err, void *arg)
{
	assert_int_equal(err->code, 0);
	order[n_done++] = arg;
}

static void a_report_that_is_being_made_keeps_its_place(void **state)
{
	static struct report reports[ARRAY_SIZE(order)];
	static struct kept kept[ARRAY_SIZE(order)];
	const struct record_options options = { .report_fd = -1 };
	(void)state;

	base = event_base_new();
	assert_int_equal(keeper_new(base, &options, -1, NULL, &keeper, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		reports[i].id.container = i == 1 ? "main" : "other";
		kept[i] = (struct kept){
			.report = &reports[i], .done = on_done, .arg = &kept[i], .waits = i == 1
		};
		keeper_keep(keeper, &kept[i]);
	}
	while (!n_done)
		event_base_loop(base, EVLOOP_ONCE);
	for (int i = 0; i < 3; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(n_done, 1);
	assert_true(keeper_is_keeping(keeper) && keeper_is_keeping_of(keeper, "main"));
	kept[1].waits = false;
	keeper_go_on(keeper);
	while (keeper_is_keeping(keeper))
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(n_done, 3);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_ptr_equal(order[i], &kept[i]);
	keeper_free(keeper);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_that_is_being_made_keeps_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
