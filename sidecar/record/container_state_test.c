/* SPDX-License-Identifier: Apache-2.0 */
/* Tests every pair of a state and an event, and the rules that hold for all of them. */
#include "sidecar/record/container_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STOP CONTAINER_STOP_READING
#define LEAVE CONTAINER_LEAVE
#define SAME { 0, 0 } /* the state does not change, and there is no action */

/*
 * The columns are the events: hello, unseeable, exit, hang-up, launcher gone, timeout, unwound,
 * judged, hooks done, kept, cores kept.
 */
static const struct container_step expected[CONTAINER_STATE_COUNT][CONTAINER_EVENT_COUNT] = {
	[CONTAINER_CONNECTED] = { { CONTAINER_RUNNING, CONTAINER_ATTACH },
				  SAME,
				  SAME,
				  { CONTAINER_LOST, STOP | LEAVE },
				  SAME,
				  { CONTAINER_LOST, STOP | CONTAINER_DISMISS | LEAVE },
				  SAME,
				  SAME,
				  SAME,
				  SAME,
				  SAME },
	[CONTAINER_RUNNING] = { SAME,
				{ CONTAINER_LOST, STOP | CONTAINER_DISMISS | LEAVE },
				{ CONTAINER_ENDED, CONTAINER_END },
				{ CONTAINER_DISCONNECTED, STOP | CONTAINER_AWAIT_LAUNCHER },
				SAME,
				SAME,
				SAME,
				SAME,
				SAME,
				SAME,
				SAME },
	[CONTAINER_DISCONNECTED] = { SAME,
				     SAME,
				     SAME,
				     SAME,
				     { CONTAINER_ENDED, CONTAINER_END },
				     { CONTAINER_LOST, LEAVE },
				     SAME,
				     SAME,
				     SAME,
				     SAME,
				     SAME },
	[CONTAINER_LOST] = { SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME },
	[CONTAINER_ENDED] = { SAME,
			      SAME,
			      SAME,
			      { CONTAINER_JUDGING, STOP | CONTAINER_JUDGE },
			      SAME,
			      SAME,
			      { CONTAINER_JUDGING, CONTAINER_JUDGE },
			      SAME,
			      SAME,
			      SAME,
			      SAME },
	[CONTAINER_JUDGING] = { SAME,
				SAME,
				SAME,
				{ CONTAINER_JUDGING, STOP },
				SAME,
				SAME,
				SAME,
				{ CONTAINER_REPORTING, CONTAINER_REPORT },
				SAME,
				SAME,
				SAME },
	[CONTAINER_REPORTING] = { SAME,
				  SAME,
				  SAME,
				  { CONTAINER_KEEPING, STOP | CONTAINER_KEEP },
				  SAME,
				  SAME,
				  SAME,
				  SAME,
				  { CONTAINER_KEEPING, CONTAINER_KEEP },
				  SAME,
				  SAME },
	[CONTAINER_KEEPING] = { SAME,
				SAME,
				SAME,
				{ CONTAINER_KEEPING, STOP },
				SAME,
				SAME,
				SAME,
				SAME,
				SAME,
				{ CONTAINER_REPORTED, CONTAINER_CONCLUDE },
				SAME },
	[CONTAINER_REPORTED] = { SAME,
				 SAME,
				 SAME,
				 { CONTAINER_REPORTED, STOP },
				 SAME,
				 SAME,
				 SAME,
				 SAME,
				 SAME,
				 SAME,
				 { CONTAINER_OVER, LEAVE } },
	[CONTAINER_OVER] = { SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME, SAME },
};

static bool is_same(struct container_step step)
{
	return step.next == 0 && step.actions == 0;
}

static void each_pair_does_what_the_table_says(void **state)
{
	(void)state;
	for (int s = 0; s < CONTAINER_STATE_COUNT; s++)
		for (int e = 0; e < CONTAINER_EVENT_COUNT; e++) {
			struct container_step step =
				container_step((enum container_state)s, (enum container_event)e);
			struct container_step want = expected[s][e];

			if (is_same(want))
				want.next = (enum container_state)s;
			if (step.next != want.next || step.actions != want.actions)
				fail_msg("state %d, event %d: state %d, actions %x", s, e,
					 (int)step.next, step.actions);
		}
}

/* Walks through all sequences of events from the beginning. */
static void each_is_left_once_reported_once_and_nothing_happens_after_that(void **state)
{
	static const struct {
		unsigned int action, most;
	} counted[] = {
		{ CONTAINER_LEAVE, 1 }, { CONTAINER_END, 1 },	   { CONTAINER_REPORT, 1 },
		{ CONTAINER_KEEP, 1 },	{ CONTAINER_CONCLUDE, 1 }, { CONTAINER_ATTACH, 1 }
	};
	uint32_t seed = 1;
	(void)state;

	for (int walk = 0; walk < 20000; walk++) {
		enum container_state at = CONTAINER_CONNECTED;
		unsigned int times[6] = { 0 };

		for (int i = 0; i < 60; i++) {
			seed = seed * 1664525 + 1013904223;
			struct container_step step = container_step(
				at, (enum container_event)((seed >> 16) % CONTAINER_EVENT_COUNT));

			/*
			 * A container that has ended never runs again, and one that was left has no
			 * action.
			 */
			assert_true(at < CONTAINER_ENDED || step.next >= CONTAINER_ENDED);
			assert_false(times[0] && step.actions);
			assert_int_equal(!!(step.actions & CONTAINER_LEAVE),
					 step.next != at && (step.next == CONTAINER_LOST ||
							     step.next == CONTAINER_OVER));
			for (int k = 0; k < 6; k++)
				times[k] += !!(step.actions & counted[k].action);
			at = step.next;
		}
		for (int k = 0; k < 6; k++)
			assert_true(times[k] <= counted[k].most);
		/*
		 * A report is made only after an end, and kept and concluded only after it was
		 * made.
		 */
		assert_true(times[2] <= times[1] && times[3] <= times[2] && times[4] <= times[3]);
	}
}

static void the_straight_way_leads_to_a_report(void **state)
{
	static const enum container_event events[] = { CONTAINER_HELLO,	     CONTAINER_EXIT,
						       CONTAINER_UNWOUND,    CONTAINER_JUDGED,
						       CONTAINER_HOOKS_DONE, CONTAINER_KEPT,
						       CONTAINER_CORES_KEPT };
	enum container_state at = CONTAINER_CONNECTED;
	unsigned int actions = 0;
	(void)state;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		actions |= container_step(at, events[i]).actions;
		at = container_step(at, events[i]).next;
	}
	assert_int_equal(at, CONTAINER_OVER);
	assert_int_equal(actions, CONTAINER_ATTACH | CONTAINER_END | CONTAINER_JUDGE |
					  CONTAINER_REPORT | CONTAINER_KEEP | CONTAINER_CONCLUDE |
					  CONTAINER_LEAVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pair_does_what_the_table_says),
		cmocka_unit_test(each_is_left_once_reported_once_and_nothing_happens_after_that),
		cmocka_unit_test(the_straight_way_leads_to_a_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
