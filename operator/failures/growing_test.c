/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the sentences about memory that grows: they stay the same while the figures change. */
#include "operator/failures/growing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"

#define MIB ((int64_t)1 << 20)
#define HOUR (3600 * NS_PER_SEC)
#define NOON (1795348800 * NS_PER_SEC) /* 2026-11-22T12:00:00Z */

static struct growth head_grows(int64_t bytes)
{
	return (struct growth){ .container = "ray-head",
				.process = "gcs_server",
				.bytes = bytes,
				.limit = 2048 * MIB,
				.rate = 20 * MIB,
				.grew_ns = 4 * HOUR,
				.left_ns = 10 * HOUR + HOUR / 3 };
}

static cJSON *new_pod(void)
{
	return cJSON_Parse("{\"metadata\":{\"name\":\"demo-head\"}}");
}

static void a_sentence_has_the_hour_in_which_the_limit_is_met(void **state)
{
	_cleanup_json_ cJSON *pod = new_pod();
	struct growing growing = { 0 };
	struct growth g = head_grows(1800 * MIB);

	(void)state;
	assert_true(growing_take(&growing, pod, &g, 1, NOON));
	assert_int_equal(growing.n, 1);
	assert_string_equal(
		growing.list[0].text,
		"Memory of gcs_server in container ray-head of pod demo-head has grown by 20.0 MiB per hour for 4 h 0 min, to 1.8 GiB; at "
		"that rate the container meets its memory limit of 2.0 GiB at about 2026-11-22T22:00Z");
}

static void figures_that_move_change_nothing_for_an_hour(void **state)
{
	_cleanup_json_ cJSON *pod = new_pod();
	struct growing growing = { 0 };
	struct growth g = head_grows(1800 * MIB);
	char first[GROWING_TEXT_MAX];

	(void)state;
	growing_take(&growing, pod, &g, 1, NOON);
	memcpy(first, growing.list[0].text, sizeof(first));
	for (int64_t at = 10; at < 3600; at += 10) {
		g.bytes += MIB;
		assert_false(growing_take(&growing, pod, &g, 1, NOON + at * NS_PER_SEC));
		assert_string_equal(growing.list[0].text, first);
	}
	assert_true(growing_take(&growing, pod, &g, 1, NOON + HOUR));
	assert_string_not_equal(growing.list[0].text, first);
	/* Even if the clock was set back, it is not kept for ever. */
	assert_true(growing_take(&growing, pod, &g, 1, NOON - HOUR));
}

static void what_comes_and_goes_is_a_change(void **state)
{
	_cleanup_json_ cJSON *pod = new_pod();
	struct growing growing = { 0 };
	struct growth two[] = { head_grows(1800 * MIB), head_grows(900 * MIB) };

	(void)state;
	snprintf(two[1].container, sizeof(two[1].container), "beside");
	assert_false(growing_take(&growing, pod, two, 0, NOON));
	assert_true(growing_take(&growing, pod, two, 1, NOON));
	assert_true(growing_take(&growing, pod, two, 2, NOON + 1));
	assert_false(growing_take(&growing, pod, two, 2, NOON + 2));
	assert_true(growing_take(&growing, pod, two + 1, 1, NOON + 3));
	assert_string_equal(growing.list[0].container, "beside");
	assert_true(growing_take(&growing, pod, two, 1, NOON + 4));
	assert_string_equal(growing.list[0].container, "ray-head");
	assert_true(growing_take(&growing, pod, two, 0, NOON + 5));
	assert_int_equal(growing.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sentence_has_the_hour_in_which_the_limit_is_met),
		cmocka_unit_test(figures_that_move_change_nothing_for_an_hour),
		cmocka_unit_test(what_comes_and_goes_is_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
