/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of an event loop inside another one. */
#include "lib/loop/inner_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	struct event_base *outer;
	struct inner_loop *inner;
	struct event *event;
	int ends[2];
	int calls;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->outer = event_base_new();
	*state = f;
	return inner_loop_new(f->outer, &f->inner, NULL) < 0 || pipe(f->ends) < 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->event)
		event_free(f->event);
	inner_loop_free(f->inner);
	event_base_free(f->outer);
	close(f->ends[0]);
	close(f->ends[1]);
	free(f);
	return 0;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;
	char byte;

	if (what & EV_READ)
		assert_int_equal(read(fd, &byte, 1), 1);
	f->calls++;
	event_base_loopbreak(f->outer);
}

static void the_outer_loop_runs_events_of_the_inner_one(void **state)
{
	struct fixture *f = *state;

	f->event = event_new(inner_loop_base(f->inner), f->ends[0], EV_READ | EV_PERSIST, on_event, f);
	event_add(f->event, NULL);
	assert_int_equal(write(f->ends[1], "a", 1), 1);
	event_base_dispatch(f->outer);
	assert_int_equal(f->calls, 1);
	assert_int_equal(write(f->ends[1], "b", 1), 1);
	event_base_dispatch(f->outer);
	assert_int_equal(f->calls, 2);
}

static void the_outer_loop_wakes_for_a_timeout_of_the_inner_one(void **state)
{
	struct fixture *f = *state;

	f->event = event_new(inner_loop_base(f->inner), f->ends[0], EV_READ, on_event, f);
	event_add(f->event, &(struct timeval){ .tv_usec = 10000 });
	inner_loop_turn(f->inner);
	assert_int_equal(f->calls, 0);
	event_base_dispatch(f->outer);
	assert_int_equal(f->calls, 1);
}

struct waiting {
	struct fixture *f;
	int calls_meanwhile;
};

static void wait_for_inner(evutil_socket_t fd, short what, void *arg)
{
	struct waiting *w = arg;

	(void)fd;
	(void)what;
	assert_int_equal(write(w->f->ends[1], "a", 1), 1);
	inner_loop_turn(w->f->inner);
	w->calls_meanwhile = w->f->calls;
}

static void a_callback_that_waits_in_the_outer_loop_can_run_them_too(void **state)
{
	struct fixture *f = *state;
	struct waiting w = { .f = f };
	struct event *waiting = event_new(f->outer, -1, 0, wait_for_inner, &w);

	f->event = event_new(inner_loop_base(f->inner), f->ends[0], EV_READ | EV_PERSIST, on_event, f);
	event_add(f->event, NULL);
	event_active(waiting, EV_TIMEOUT, 0);
	event_base_loop(f->outer, EVLOOP_NONBLOCK);
	assert_int_equal(w.calls_meanwhile, 1);
	event_free(waiting);
}

/* As a client that always has one more request. */
static void is_active_again(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;

	(void)fd;
	(void)what;
	f->calls++;
	event_active(f->event, EV_TIMEOUT, 0);
}

static void count_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(int *)arg;
}

static void events_without_end_hold_neither_a_turn_nor_the_outer_loop(void **state)
{
	struct fixture *f = *state;
	int ticks = 0, before;
	struct event *tick = event_new(f->outer, -1, EV_PERSIST, count_tick, &ticks);

	f->event = event_new(inner_loop_base(f->inner), -1, 0, is_active_again, f);
	event_active(f->event, EV_TIMEOUT, 0);
	inner_loop_turn(f->inner);
	before = f->calls;
	assert_true(before > 0);
	event_add(tick, &(struct timeval){ .tv_usec = 5000 });
	while (ticks < 5)
		event_base_loop(f->outer, EVLOOP_ONCE);
	/* The outer loop runs what is left. */
	assert_true(f->calls > before);
	event_free(tick);
}

static int complaints;

static void on_complaint(int severity, const char *text)
{
	(void)severity;
	(void)text;
	complaints++;
}

static void turn_again(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;

	(void)fd;
	(void)what;
	f->calls++;
	inner_loop_turn(f->inner);
}

static void one_of_its_events_may_wait_like_others_do(void **state)
{
	struct fixture *f = *state;

	event_set_log_callback(on_complaint);
	f->event = event_new(inner_loop_base(f->inner), -1, 0, turn_again, f);
	for (int i = 1; i <= 2; i++) {
		event_active(f->event, EV_TIMEOUT, 0);
		inner_loop_turn(f->inner);
		assert_int_equal(f->calls, i);
	}
	assert_int_equal(complaints, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_outer_loop_runs_events_of_the_inner_one, setup, teardown),
		cmocka_unit_test_setup_teardown(the_outer_loop_wakes_for_a_timeout_of_the_inner_one, setup, teardown),
		cmocka_unit_test_setup_teardown(one_of_its_events_may_wait_like_others_do, setup, teardown),
		cmocka_unit_test_setup_teardown(events_without_end_hold_neither_a_turn_nor_the_outer_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(a_callback_that_waits_in_the_outer_loop_can_run_them_too, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
