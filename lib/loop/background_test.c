/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of errands whose messages the event loop gets. */
#include "lib/loop/background.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

struct seen {
	struct event_base *base;
	char text[32];
	size_t len;
	int done;
	bool in_time;
	struct background late; /* of the test that starts one late */
};

static void on_message(const void *data, size_t len, int *passed_fd, void *arg)
{
	struct seen *s = arg;

	(void)passed_fd;
	assert_true(s->len + len < sizeof(s->text));
	memcpy(s->text + s->len, data, len);
	s->len += len;
}

static void on_done(bool in_time, void *arg)
{
	struct seen *s = arg;

	s->done++;
	s->in_time = in_time;
	event_base_loopbreak(s->base);
}

static void say_two_words(int fd, void *arg)
{
	(void)arg;
	errand_send(fd, "one ", 4, -1);
	errand_send(fd, "two", 3, -1);
}

static void hang(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	pause();
}

static void each_message_comes_and_then_the_end(void **state)
{
	struct seen s = { .base = event_base_new() };
	struct background b = BACKGROUND_NONE;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(background_start(&b, s.base, say_two_words, NULL, 60 * NS_PER_SEC,
					  on_message, on_done, &s, &err),
			 0);
	assert_int_equal(s.done, 0);
	event_base_dispatch(s.base);
	assert_string_equal(s.text, "one two");
	assert_true(s.in_time);
	assert_int_equal(s.done, 1);
	event_base_free(s.base);
}

/* arg: the answer and its size. */
struct to_say {
	int value;
	size_t size;
};

static void answer(int fd, void *arg)
{
	const struct to_say *say = arg;

	errand_send(fd, &say->value, say->size, -1);
}

static void an_answer_of_the_right_size_is_there_at_the_end(void **state)
{
	struct seen s = { .base = event_base_new() };
	int value = 1;
	struct background b = BACKGROUND_FOR(value);
	struct to_say say = { .value = 7, .size = sizeof(value) };
	(void)state;

	assert_int_equal(background_start(&b, s.base, answer, &say, 60 * NS_PER_SEC, NULL, on_done,
					  &s, NULL),
			 0);
	event_base_dispatch(s.base);
	assert_true(b.answered);
	assert_int_equal(value, 7);
	say = (struct to_say){ .value = 8, .size = 1 };
	assert_int_equal(background_start(&b, s.base, answer, &say, 60 * NS_PER_SEC, NULL, on_done,
					  &s, NULL),
			 0);
	event_base_dispatch(s.base);
	assert_int_equal(s.done, 2);
	assert_false(b.answered);
	assert_int_equal(value, 7);
	event_base_free(s.base);
}

static void whatever_hangs_is_left_behind_and_no_other_is_started_until_it_is_dead(void **state)
{
	struct seen s = { .base = event_base_new() };
	struct background b = BACKGROUND_NONE;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(background_start(&b, s.base, hang, NULL, 60 * NS_PER_SEC, on_message,
					  on_done, &s, &err),
			 0);
	assert_int_equal(background_start(&b, s.base, hang, NULL, 60 * NS_PER_SEC, on_message,
					  on_done, &s, &err),
			 -EBUSY);
	background_limit(&b, NS_PER_MS);
	event_base_dispatch(s.base);
	assert_int_equal(s.done, 1);
	assert_false(s.in_time);
	while (errand_busy(&b.errand))
		usleep(1000);
	assert_int_equal(background_start(&b, s.base, say_two_words, NULL, 60 * NS_PER_SEC,
					  on_message, on_done, &s, &err),
			 0);
	event_base_dispatch(s.base);
	assert_true(s.in_time);
	event_base_free(s.base);
}

static void work_for_a_while(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	usleep(200000);
}

static void a_limit_that_is_lifted_ends_nothing(void **state)
{
	struct seen s = { .base = event_base_new() };
	struct background b = BACKGROUND_NONE;
	(void)state;

	assert_int_equal(background_start(&b, s.base, work_for_a_while, NULL, 100 * NS_PER_MS,
					  on_message, on_done, &s, NULL),
			 0);
	background_limit(&b, INT64_MAX);
	event_base_dispatch(s.base);
	assert_int_equal(s.done, 1);
	assert_true(s.in_time);
	event_base_free(s.base);
}

static void a_cancelled_one_is_not_heard_of(void **state)
{
	struct seen s = { .base = event_base_new() };
	struct background b = BACKGROUND_NONE;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(
		background_start(&b, s.base, hang, NULL, NS_PER_MS, on_message, on_done, &s, &err),
		0);
	background_cancel(&b);
	event_base_dispatch(s.base);
	assert_int_equal(s.done, 0);
	event_base_free(s.base);
}

static void sleep_and_start(evutil_socket_t fd, short what, void *arg)
{
	struct seen *s = arg;
	struct err err = { 0 };

	(void)fd;
	(void)what;
	sleep(3);
	assert_int_equal(background_start(&s->late, s->base, say_two_words, NULL, 2 * NS_PER_SEC,
					  on_message, on_done, s, &err),
			 0);
}

/* A loop that bounds its turns counts a time limit from when the running callback began. */
static void a_limit_counts_from_when_it_is_set(void **state)
{
	const struct timeval turn_max = { .tv_usec = 2000 };
	struct event_config *config = event_config_new();
	struct seen s = { .late = BACKGROUND_NONE };
	(void)state;

	assert_non_null(config);
	event_config_set_max_dispatch_interval(config, &turn_max, -1, 0);
	s.base = event_base_new_with_config(config);
	event_config_free(config);
	event_base_once(s.base, -1, EV_TIMEOUT, sleep_and_start, &s, NULL);
	event_base_dispatch(s.base);
	assert_true(s.in_time);
	assert_string_equal(s.text, "one two");
	event_base_free(s.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_comes_and_then_the_end),
		cmocka_unit_test(an_answer_of_the_right_size_is_there_at_the_end),
		cmocka_unit_test(
			whatever_hangs_is_left_behind_and_no_other_is_started_until_it_is_dead),
		cmocka_unit_test(a_limit_that_is_lifted_ends_nothing),
		cmocka_unit_test(a_cancelled_one_is_not_heard_of),
		cmocka_unit_test(a_limit_counts_from_when_it_is_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
