/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the counts of RayFailures. */
#include "operator/failure_controller/failure_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"

static struct failure_counts counts;
static struct metrics metrics;

static int release(void **state)
{
	(void)state;
	failure_counts_release(&counts);
	metrics_release(&metrics);
	return 0;
}

static void add(const char *cluster, const char *class, int64_t now_ns)
{
	_cleanup_json_ cJSON *failure = cJSON_CreateObject();
	cJSON *metadata = cJSON_AddObjectToObject(failure, "metadata"), *spec = cJSON_AddObjectToObject(failure, "spec");

	cJSON_AddStringToObject(metadata, "namespace", "ml");
	cJSON_AddStringToObject(spec, "cluster", cluster);
	cJSON_AddStringToObject(spec, "class", class);
	cJSON_AddStringToObject(spec, "confidence", "certain");
	failure_counts_add(&counts, failure, now_ns);
}

/* The value of the series, -1: there is none. */
static double value_of(const char *cluster, const char *class, int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20);
	char line[256];

	failure_counts_publish(&counts, now_ns, &metrics);
	metrics_render(&metrics, &text);
	snprintf(line, sizeof(line),
		 "\nafterglow_failures_recorded_total{namespace=\"ml\",cluster=\"%s\",class=\"%s\",confidence=\"certain\"} ", cluster, class);
	const char *at = strstr(strbuf_str(&text), line);
	return at ? strtod(at + strlen(line), NULL) : -1;
}

static void a_new_series_shows_0_before_it_shows_its_first_failure(void **state)
{
	(void)state;
	add("demo", "Segfault", 5);
	add("demo", "Segfault", 6);
	assert_true(value_of("demo", "Segfault", 7) == 0);
	assert_true(value_of("demo", "Segfault", 4 + FAILURE_COUNTS_ZERO_NS) == 0);
	assert_true(value_of("demo", "Segfault", 5 + FAILURE_COUNTS_ZERO_NS) == 2);
	assert_true(value_of("demo", "Abort", 5 + FAILURE_COUNTS_ZERO_NS) == -1);
}

static void later_failures_of_a_series_show_at_once(void **state)
{
	(void)state;
	add("demo", "Segfault", 0);
	add("demo", "Segfault", FAILURE_COUNTS_ZERO_NS);
	assert_true(value_of("demo", "Segfault", FAILURE_COUNTS_ZERO_NS) == 2);
}

static void the_series_with_the_oldest_failure_makes_room_for_a_new_one(void **state)
{
	char name[32];
	(void)state;

	for (int i = 0; i < FAILURE_COUNTS_MAX; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		add(name, "Killed", i);
	}
	/* The oldest series now has the newest failure. */
	add("job-0", "Killed", FAILURE_COUNTS_MAX);
	add("one-more", "Killed", FAILURE_COUNTS_MAX + 1);
	assert_int_equal(counts.series.n, FAILURE_COUNTS_MAX);
	assert_true(value_of("job-0", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == 2);
	assert_true(value_of("job-1", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == -1);
	assert_true(value_of("one-more", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == 1);
}

static void a_hostile_name_breaks_no_line(void **state)
{
	char name[400];
	(void)state;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	add("a\"} 7\nb 8\n", "Killed", 0);
	add(name, "Killed", 0);
	name[63] = 0;
	assert_true(value_of("", "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
	assert_true(value_of(name, "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_new_series_shows_0_before_it_shows_its_first_failure, release),
		cmocka_unit_test_teardown(later_failures_of_a_series_show_at_once, release),
		cmocka_unit_test_teardown(the_series_with_the_oldest_failure_makes_room_for_a_new_one, release),
		cmocka_unit_test_teardown(a_hostile_name_breaks_no_line, release),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
