/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of when the stacks of a container that was asked to stop are taken, and of what the report
 * of its end gets of them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/record/container_internal.h"

#define AT(seconds) ((seconds) * NS_PER_SEC)
#define ALL "all of its processes" /* at the end of an answer */
#define SOME "some of its processes"
#define ANSWER "target 12 train.py\nthread 12 S still python3\n  Python, innermost first:\n     train.py:88 in wait\n"

static unsigned int n_wanted, n_of_drivers;
static bool refused;

static bool on_hangs(struct container *c, bool drivers, void *arg)
{
	(void)c;
	(void)arg;
	n_wanted += !refused && !drivers;
	n_of_drivers += !refused && drivers;
	return !refused;
}

static const struct record_options in_pod = { .stacks_at_stop_s = 24 },
				   below_exec = { .stacks_at_stop_s = 24, .own_launcher = true },
				   without = { 0 };
static const struct record_options at_threshold = { .stacks_at_stop_s = 24,
						    .stacks_at_threshold = true,
						    .warn_at = 0.8 };

static struct container container_with(const struct record_options *options)
{
	n_wanted = n_of_drivers = 0;
	refused = false;
	return (struct container){ .state = CONTAINER_RUNNING,
				   .fd = -1,
				   .options = options,
				   .callbacks = { .hangs = on_hangs } };
}

static void container_stacks_release(struct container *c)
{
	strbuf_release(&c->stacks);
	strbuf_release(&c->stacks_answer);
}

static void take_answer(struct container *c, const char *text)
{
	container_take_stacks(c, text, strlen(text), false);
	container_take_stacks(c, NULL, 0, true);
}

static void they_are_taken_when_who_asked_will_soon_kill(void **state)
{
	static const struct {
		const char *what;
		const struct record_options *options;
		struct stop_request asked;
		int64_t terminating_s, at_s; /* -1: never */
		int64_t early_s; /* 0: only at at_s */
	} rows[] = {
		{ "nobody asked", &in_pod, { 0 }, 0, -1, 0 },
		{ "the runtime asked this container alone", &in_pod, { SIGTERM, 0, "", AT(100) }, 0, 124, 101 },
		{ "the runtime asked all containers", &in_pod, { SIGTERM, 0, "", AT(100) }, 100, 124, 0 },
		{ "a process of the container asked", &in_pod, { SIGTERM, 7, "", AT(100) }, 0, -1, 0 },
		{ "a preStop hook does not end", &in_pod, { 0 }, 90, 114, 0 },
		{ "a preStop hook took most of the time", &in_pod, { SIGTERM, 0, "", AT(100) }, 90, 114, 0 },
		{ "a process of the container asked before the pod was deleted", &in_pod, { SIGTERM, 7, "", AT(80) }, 90, 114, 0 },
		{ "the pod was deleted after the request", &in_pod, { SIGTERM, 0, "", AT(80) }, 90, 104, 0 },
		{ "a batch scheduler asked", &below_exec, { SIGTERM, 7, "slurmstepd", AT(100) }, 0, 124, 0 },
		{ "nobody wants them", &without, { SIGTERM, 0, "", AT(100) }, 90, -1, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container c = container_with(rows[i].options);

		c.asked = rows[i].asked;
		c.terminating_ns = AT(rows[i].terminating_s);
		for (int64_t at_s = 90; at_s < 1000; at_s++) {
			container_check_stop(&c, AT(at_s));
			container_take_stacks(&c, NULL, 0, true);
			unsigned int wanted = rows[i].at_s >= 0 && at_s >= rows[i].at_s;
			wanted += rows[i].early_s && at_s >= rows[i].early_s;
			if (n_wanted != wanted)
				fail_msg("%s: taken %u times at %lld", rows[i].what, n_wanted,
					 (long long)at_s);
		}
		container_stacks_release(&c);
	}
}

static void they_are_taken_later_while_somebody_else_asks_for_stacks(void **state)
{
	struct container c = container_with(&in_pod);
	(void)state;

	c.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = AT(100) };
	refused = true;
	container_check_stop(&c, AT(124));
	refused = false;
	container_check_stop(&c, AT(126));
	assert_int_equal(n_wanted, 1);
	assert_string_equal(c.stacks_begun.when, "26.0 s after the request to stop");
	container_stacks_release(&c);
}

static void after_a_threshold_they_are_taken_later_but_not_when_memory_has_fallen(void **state)
{
	struct container c = container_with(&at_threshold);
	(void)state;

	c.termination_fd = -1;
	c.observer.last.memory.limit = 100;
	for (int64_t i = 0; i < 5; i++) {
		refused = i == 0;
		c.observer.last.memory.usage = (const int[]){ 85, 78, 83, 84, 85 }[i];
		container_check_threshold(&c, AT(100 + i));
		take_answer(&c, ANSWER);
		assert_int_equal(n_wanted, i > 1);
	}
	assert_string_equal(c.stacks_taken.when, "At 83 % of the memory limit");
	container_stacks_release(&c);
}

/* Takes that answer, in parts, and ends. */
static struct ending ending_with(struct container *c, const char *const *parts, int64_t ended_ns)
{
	struct ending e = { .ended_ns = ended_ns };

	*c = container_with(&in_pod);
	c->asked = (struct stop_request){ .signal = SIGTERM, .at_ns = AT(100) };
	container_check_stop(c, AT(124));
	for (; *parts; parts++)
		if (strcmp(*parts, ALL) == 0 || strcmp(*parts, SOME) == 0)
			container_take_stacks(c, NULL, 0, strcmp(*parts, ALL) == 0);
		else
			container_take_stacks(c, *parts, strlen(*parts), false);
	container_add_stacks(c, &e);
	return e;
}

static void the_end_has_what_was_seen_until_then(void **state)
{
#define TIMES "24.0 s after the request to stop and 6.0 s before the end, "
#define WHERE "1 process still ran; its main thread: train.py (PID 12) at train.py:88 in wait"
	static const struct {
		const char *parts[4];
		const char *text;
		int64_t ended_s;
	} rows[] = {
		{ { NULL }, NULL, 130 },
		{ { "end\n", ALL, NULL }, NULL, 130 },
		{ { ANSWER, "end\n", ALL, NULL }, TIMES WHERE, 130 },
		/* There was no time for the others. */
		{ { ANSWER, "end\n", SOME, NULL }, TIMES "at least " WHERE, 130 },
		/* The next process was being looked at. */
		{ { ANSWER, NULL }, TIMES "at least " WHERE, 130 },
		{ { ANSWER, "target 13 x\nfailed it has ended\n", ALL, NULL }, TIMES "at least " WHERE, 130 },
		/* What comes after the end of the answer is none of it. */
		{ { ANSWER, ALL, ANSWER, NULL }, TIMES WHERE, 130 },
		/* It went on for an hour: nobody killed it for the request. */
		{ { ANSWER, ALL, NULL }, NULL, 3600 },
		{ { ANSWER, "target 13 raylet\nthread 13 S still r\n  native, innermost first:\n     poll (libc.so.6)\n", ALL, NULL },
		  TIMES "2 processes still ran; their main threads: train.py (PID 12) at train.py:88 in wait; raylet (PID 13) at poll (libc.so.6)", 130 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container c;
		struct ending e = ending_with(&c, rows[i].parts, AT(rows[i].ended_s));

		assert_int_equal(e.still_running != NULL, rows[i].text != NULL);
		if (e.still_running) {
			assert_string_equal(e.still_running, rows[i].text);
			assert_non_null(strstr(strbuf_str(e.stacks), "Main thread of 1 of "));
		}
		container_stacks_release(&c);
	}
}

static void they_are_taken_when_memory_is_nearly_full_but_not_too_often(void **state)
{
	struct container c = container_with(&in_pod);
	struct ending e = { .ended_ns = AT(107) };
	(void)state;

	container_check_full(&c, AT(100), 0.913);
	assert_int_equal(n_wanted, 0);
	c = container_with(&at_threshold);
	for (int64_t at_s = 100; at_s < 701; at_s++) {
		container_check_full(&c, AT(at_s), 0.913);
		take_answer(&c, ANSWER);
		if (n_wanted != (at_s < 700 ? 1 : 2))
			fail_msg("%u looks at %lld", n_wanted, (long long)at_s);
		if (at_s == 107)
			container_add_stacks(&c, &e);
	}
	assert_string_equal(
		e.still_running,
		"At 91 % of the memory limit and 7.0 s before the end, 1 process ran; its main thread: train.py (PID 12) at "
		"train.py:88 in wait");
	container_stacks_release(&c);
}

static void a_later_moment_takes_the_place_of_an_earlier_one_if_something_is_seen(void **state)
{
	static const struct {
		const char *answer, *text;
	} rows[] = {
		{ ANSWER, "24.0 s after the request to stop and 6.0 s before the end, 1 process still ran;" },
		{ "target 12 train.py\nfailed it has ended\n", "1.0 s after the request to stop and 29.0 s before the end, 1 process still ran;" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct container c = container_with(&at_threshold);
		struct ending e = { .ended_ns = AT(130) };

		c.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = AT(100) };
		container_check_stop(&c, AT(101));
		/* An answer that has not come whole is not given up for another. */
		container_check_full(&c, AT(102), 0.99);
		assert_int_equal(n_wanted, 1);
		take_answer(&c, ANSWER);
		container_check_stop(&c, AT(124));
		take_answer(&c, rows[i].answer);
		container_add_stacks(&c, &e);
		assert_int_equal(n_wanted, 2);
		if (strncmp(e.still_running, rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("%s", e.still_running);
		assert_non_null(strstr(strbuf_str(e.stacks), "train.py:88 in wait"));
		container_stacks_release(&c);
	}
}

#define IN_RAY(line) \
	"target 12 train.py\nthread 12 S still python3\n  Python, innermost first:\n" \
	"     /x/ray/_private/worker.py:9 in get\n     train.py:" line " in main\n"

static void
a_driver_that_stands_at_the_same_call_of_ray_for_long_is_said_once_and_all_are_looked_at(
	void **state)
{
	static const struct record_options at_wait = { .stacks_at_wait_s = 80, .report_fd = -1 };
	struct container c = container_with(&without);
	char said[DRIVER_WAITS_MAX] = "";
	int said_s = 0;
	(void)state;

	container_check_driver(&c, AT(100));
	assert_int_equal(n_of_drivers, 0);
	c = container_with(&at_wait);
	for (int at_s = 100; at_s < 1000; at_s++) {
		unsigned int drivers = n_of_drivers, all = n_wanted;

		/* A look that comes later, one that shows nothing, and another line. */
		refused = at_s == 120;
		container_check_driver(&c, AT(at_s));
		if (n_of_drivers > drivers)
			take_answer(&c, at_s == 141 ? "target 12 train.py\nfailed no time\n" :
					at_s < 111  ? IN_RAY("7") :
					at_s > 900  ? ANSWER :
						      IN_RAY("88"));
		if (n_wanted > all)
			take_answer(&c, IN_RAY("88"));
		if (c.observer.driver_waits[0] && !said_s) {
			said_s = at_s;
			memcpy(said, c.observer.driver_waits, sizeof(said));
		}
	}
	assert_int_equal(n_wanted, 1);
	/* It stood there first at 121 s. The look at 141 s showed nothing. */
	assert_int_equal(said_s, 201);
	assert_string_equal(
		said,
		"A driver waits in Ray, train.py (PID 12) at train.py:88 in main: at each look "
		"within 1 min 20 s it stood there, or came back");
	assert_in_range(n_of_drivers, 85, 90); /* every 10 s, but at 120 s and once for all */
	assert_string_equal(c.stacks_taken.when, "When a driver had waited for long");
	assert_non_null(strstr(strbuf_str(&c.stacks), "train.py:88 in main"));
	assert_string_equal(c.observer.driver_waits, ""); /* it goes on */
	container_stacks_release(&c);
}

static void at_the_first_failure_of_its_probe_they_are_taken_but_not_too_often(void **state)
{
	static const struct record_options at_probe = { .stacks_at_probe = "1/", .report_fd = -1 };
	static const struct {
		const char *what;
		int at_s;
		bool failed, refused, asked;
		unsigned int looks; /* so far */
		bool stays_failed;
	} rows[] = {
		{ "it is well", 100, false, false, false, 0, false },
		{ "it fails while others are answered", 101, true, true, false, 0, true },
		{ "they have been answered", 102, true, false, false, 1, false },
		{ "it fails again some minutes later", 700, true, false, false, 1, false },
		{ "it fails after ten minutes", 703, true, false, false, 2, false },
		{ "it was asked to stop", 2000, true, false, true, 2, true },
	};
	struct container c = container_with(&at_probe), off = container_with(&without);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		c.probe.failed = off.probe.failed = rows[i].failed;
		c.probe.asked_ns = AT(rows[i].at_s); /* nothing is asked */
		refused = rows[i].refused;
		if (rows[i].asked)
			c.asked = (struct stop_request){ .signal = SIGTERM, .at_ns = AT(1999) };
		container_check_probe(&c, AT(rows[i].at_s));
		container_check_probe(&off, AT(rows[i].at_s));
		if (n_wanted != rows[i].looks || c.probe.failed != rows[i].stays_failed)
			fail_msg("%s: %u looks, %d", rows[i].what, n_wanted, c.probe.failed);
		take_answer(&c, ANSWER);
	}
	assert_string_equal(c.stacks_taken.when,
			    "When the port of its liveness probe had just failed");
	assert_non_null(strstr(strbuf_str(&c.stacks), "train.py:88 in wait"));
	container_stacks_release(&c);
}

static void what_there_is_no_room_for_is_left_out(void **state)
{
	static char large[(1 << 20) + 1];
	const char *parts[] = { ANSWER, large, NULL };
	struct container c;
	struct ending e;
	(void)state;

	memset(large, ' ', sizeof(large) - 1);
	e = ending_with(&c, parts, AT(130));
	assert_string_equal(e.still_running, TIMES "at least " WHERE);
	container_stacks_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_taken_when_who_asked_will_soon_kill),
		cmocka_unit_test(they_are_taken_later_while_somebody_else_asks_for_stacks),
		cmocka_unit_test(
			after_a_threshold_they_are_taken_later_but_not_when_memory_has_fallen),
		cmocka_unit_test(the_end_has_what_was_seen_until_then),
		cmocka_unit_test(they_are_taken_when_memory_is_nearly_full_but_not_too_often),
		cmocka_unit_test(
			a_later_moment_takes_the_place_of_an_earlier_one_if_something_is_seen),
		cmocka_unit_test(what_there_is_no_room_for_is_left_out),
		cmocka_unit_test(
			at_the_first_failure_of_its_probe_they_are_taken_but_not_too_often),
		cmocka_unit_test(
			a_driver_that_stands_at_the_same_call_of_ray_for_long_is_said_once_and_all_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
