/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with hours of a head node: which of its processes grows, and which one does not. */
#include "sidecar/watch/memory_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MIB (INT64_C(1) << 20)
#define DRIVER "/usr/bin/python3 train.py"

static struct memory_watch w;
static struct memory memory;
static int64_t now_s, began_s, ended_s;

static int setup(void **state)
{
	(void)state;
	w = (struct memory_watch){ .looked_ns = 0 };
	memory = MEMORY_ABSENT;
	memory.limit = 4096 * MIB;
	memory.anon = memory.usage = 1000 * MIB;
	now_s = 5000;
	began_s = ended_s = 0;
	return 0;
}

struct one {
	pid_t pid;
	const char *name, *command;
	double mib, per_hour;
};

/*
 * Simulates the processes for so many hours. other_mib is the container's other memory, and its
 * growth follows.
 */
static void live(double hours, const struct one *ones, size_t n, double other_mib,
		 double other_per_hour)
{
	for (int64_t until = now_s + (int64_t)(hours * 3600), from = now_s; now_s < until;
	     now_s += 10) {
		double t = (double)(now_s - from) / 3600, all = other_mib + t * other_per_hour;

		for (size_t i = 0; i < n; i++)
			all += ones[i].mib + t * ones[i].per_hour;
		memory.anon = memory.usage = (int64_t)(all * (double)MIB);
		if (!memory_watch_begin(&w, &memory, now_s * NS_PER_SEC))
			continue;
		for (size_t i = 0; i < n; i++) {
			struct process p = { .pid = ones[i].pid,
					     .rss = (int64_t)((ones[i].mib + t * ones[i].per_hour) *
							      (double)MIB) +
						    7,
					     .shared = 7 };

			snprintf(p.name, sizeof(p.name), "%s", ones[i].name);
			snprintf(p.command, sizeof(p.command), "%s", ones[i].command);
			memory_watch_process(&w, &p);
		}
		switch (memory_watch_end(&w, &memory)) {
		case MEMORY_BEGAN_TO_GROW:
			began_s = now_s;
			break;
		case MEMORY_CEASED_TO_GROW:
			ended_s = now_s;
			break;
		default:
			break;
		}
	}
}

static void a_gcs_server_that_leaks_is_named_with_slope_and_time_left(void **state)
{
	const struct one ones[] = { { 7, "raylet", "raylet", 200, 0 },
				    { 42, "gcs_server", "gcs_server", 300, 200 } };
	char text[400];
	(void)state;

	live(12, ones, 2, 500, 0);
	assert_true(began_s > 0);
	assert_int_equal(w.forecast.pid, 42);
	assert_string_equal(w.forecast.process, "gcs_server");
	assert_in_range(w.forecast.growth.rate, 195 * MIB, 205 * MIB);
	/* At first there are 3096 MiB of room, and it grows by 200 MiB for twelve hours. */
	assert_in_range(w.forecast.growth.left_ns / NS_PER_SEC, 3 * 3600, 4 * 3600);
	memory_watch_describe(&w.forecast, text, sizeof(text));
	assert_ptr_equal(
		strstr(text, "Memory grows: gcs_server (PID 42) holds 2.6 GiB and grew by "), text);
	assert_non_null(strstr(text, "the container meets its memory limit of 4.0 GiB in 3 h "));
	assert_int_equal(ended_s, 0);
}

static void the_forecast_in_json_has_all_figures(void **state)
{
	const struct memory_forecast f = { .growth = { 20 * MIB, 14400 * NS_PER_SEC,
						       43200 * NS_PER_SEC },
					   .bytes = 1808 * MIB,
					   .limit = 2048 * MIB,
					   .pid = 42,
					   .process = "gcs_server" };
	cJSON *json = memory_watch_to_json(&f);
	char *text = cJSON_PrintUnformatted(json);
	(void)state;

	assert_string_equal(
		text,
		"{\"sentence\":\"Memory grows: gcs_server (PID 42) holds 1.8 GiB and grew by 20.0 MiB per hour for 4 h 0 min. "
		"At that rate the container meets its memory limit of 2.0 GiB in 12 h 0 min.\",\"process\":\"gcs_server\","
		"\"pid\":42,\"bytes\":1895825408,\"growthBytesPerHour\":20971520,\"grewSeconds\":14400,"
		"\"limitBytes\":2147483648,\"secondsLeft\":43200}");
	free(text);
	cJSON_Delete(json);
}

static void a_driver_that_leaks_under_noisy_workers_is_named(void **state)
{
	const struct one ones[] = { { 9, "python3 train.py", DRIVER, 300, 400 },
				    { 10, "ray::work", "ray::work", 100, 0 } };
	(void)state;

	live(5, ones, 2, 1000, 0);
	assert_int_equal(w.forecast.pid, 9);
	assert_string_equal(w.forecast.process, "python3 train.py");
}

static void growth_of_many_is_the_containers(void **state)
{
	const struct one ones[] = { { 7, "raylet", "raylet", 200, 5 },
				    { 42, "gcs_server", "gcs_server", 300, 0 } };
	char text[400];
	(void)state;

	live(5, ones, 2, 500, 500);
	assert_true(began_s > 0);
	assert_int_equal(w.forecast.pid, 0);
	assert_string_equal(w.forecast.process, "");
	assert_non_null(strstr(memory_watch_describe(&w.forecast, text, sizeof(text)),
			       "the processes of the container together hold 3."));
}

static void one_that_grows_is_found_although_others_give_back_as_much(void **state)
{
	const struct one ones[] = { { 42, "gcs_server", "gcs_server", 300, 300 } };
	(void)state;

	live(5.5, ones, 1, 2500, -150);
	assert_int_equal(w.forecast.pid, 42);
}

static void tasks_by_themselves_are_not_watched(void **state)
{
	const struct one ones[] = { { 9, "ray::Actor.run", "ray::Actor.run", 300, 500 } };
	(void)state;

	live(5, ones, 1, 3000, -500);
	assert_int_equal(w.n, 0);
	assert_int_equal(began_s, 0);
}

static void without_a_limit_there_is_nothing_to_meet(void **state)
{
	const struct one ones[] = { { 42, "gcs_server", "gcs_server", 300, 300 } };
	(void)state;

	memory.limit = -1;
	live(8, ones, 1, 100, 0);
	assert_int_equal(began_s, 0);
}

static void page_cache_takes_no_room(void **state)
{
	const struct one ones[] = { { 42, "gcs_server", "gcs_server", 300, 100 } };
	struct memory_forecast without;
	(void)state;

	live(26, ones, 1, 100, 0);
	without = w.forecast;
	memory.usage += 900 * MIB;
	memory.inactive_file = 600 * MIB;
	memory.active_file = 300 * MIB;
	for (int i = 0; i < 2; i++) {
		now_s += 300;
		memory_watch_begin(&w, &memory, now_s * NS_PER_SEC);
		w.list[0].seen = true;
		memory_watch_end(&w, &memory);
	}
	assert_true(without.growth.left_ns > 0);
	assert_true(w.forecast.growth.left_ns > without.growth.left_ns - 1200 * NS_PER_SEC);
}

static void the_end_of_growth_is_reported_half_an_hour_later_and_growth_may_begin_anew(void **state)
{
	struct one one = { 42, "gcs_server", "gcs_server", 300, 400 };
	(void)state;

	live(6, &one, 1, 100, 0);
	assert_true(began_s > 0);
	one.mib = 2700;
	one.per_hour = 0;
	live(3, &one, 1, 100, 0);
	assert_true(ended_s > began_s);
	assert_int_equal(w.forecast.growth.rate, 0);
	began_s = 0;
	one.per_hour = 200;
	live(5, &one, 1, 100, 0);
	assert_true(began_s > ended_s);
}

static void another_process_of_that_pid_begins_anew_and_one_that_is_gone_is_forgotten(void **state)
{
	const struct one leaks = { 42, "python3 a.py", DRIVER, 300, 300 },
			 other = { 42, "gcs_server", "gcs_server", 1200, 300 };
	(void)state;

	live(3.5, &leaks, 1, 100, 0);
	live(1, &other, 1, 100, 0);
	assert_int_equal(w.n, 1);
	assert_int_equal(w.list[0].kind, COMPONENT_GCS);
	assert_int_equal(w.list[0].trend.n, 0);
	live(0.1, NULL, 0, 100, 0);
	assert_int_equal(w.n, 0);
}

static void more_processes_than_have_a_place_do_no_harm(void **state)
{
	struct one ones[20];
	(void)state;

	for (int i = 0; i < 20; i++)
		ones[i] = (struct one){ 100 + i, "python3 x.py", DRIVER, 20, 0 };
	live(0.5, ones, 20, 100, 0);
	assert_int_equal(w.n, MEMORY_WATCH_PROCESSES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_gcs_server_that_leaks_is_named_with_slope_and_time_left, setup),
		cmocka_unit_test(the_forecast_in_json_has_all_figures),
		cmocka_unit_test_setup(a_driver_that_leaks_under_noisy_workers_is_named, setup),
		cmocka_unit_test_setup(growth_of_many_is_the_containers, setup),
		cmocka_unit_test_setup(one_that_grows_is_found_although_others_give_back_as_much, setup),
		cmocka_unit_test_setup(tasks_by_themselves_are_not_watched, setup),
		cmocka_unit_test_setup(without_a_limit_there_is_nothing_to_meet, setup),
		cmocka_unit_test_setup(page_cache_takes_no_room, setup),
		cmocka_unit_test_setup(the_end_of_growth_is_reported_half_an_hour_later_and_growth_may_begin_anew, setup),
		cmocka_unit_test_setup(another_process_of_that_pid_begins_anew_and_one_that_is_gone_is_forgotten, setup),
		cmocka_unit_test_setup(more_processes_than_have_a_place_do_no_harm, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
