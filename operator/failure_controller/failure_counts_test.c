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
	counts.quote_verdicts = false;
	metrics_release(&metrics);
	return 0;
}

static const char *namespace = "ml"; /* of the failures that are added */

static void add_verdict(const char *cluster, const char *class, const char *verdict, int64_t now_ns)
{
	_cleanup_json_ cJSON *failure = cJSON_CreateObject();
	cJSON *metadata = cJSON_AddObjectToObject(failure, "metadata"),
	      *spec = cJSON_AddObjectToObject(failure, "spec");

	cJSON_AddStringToObject(metadata, "namespace", namespace);
	cJSON_AddStringToObject(spec, "cluster", cluster);
	cJSON_AddStringToObject(spec, "class", class);
	cJSON_AddStringToObject(spec, "confidence", "certain");
	cJSON_AddStringToObject(spec, "container", "ray-worker");
	cJSON_AddStringToObject(spec, "endedAt", "2026-11-22T12:00:00Z");
	cJSON_AddStringToObject(spec, "verdict", verdict);
	cJSON_AddStringToObject(spec, "advice", "a limit of \"2\" GiB");
	cJSON_AddStringToObject(metadata, "name", "f");
	cJSON_AddStringToObject(cJSON_AddObjectToObject(spec, "owner"), "kind", "RayJob");
	cJSON_AddStringToObject(json_get(spec, "owner"), "name", "train");
	failure_counts_add(&counts, failure, now_ns);
}

static void add(const char *cluster, const char *class, int64_t now_ns)
{
	add_verdict(cluster, class, "It crashed.", now_ns);
}

/* The value of the series, -1: there is none. */
static double value_of(const char *cluster, const char *class, int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20);
	char line[512];

	failure_counts_publish(&counts, now_ns, &metrics);
	metrics_render(&metrics, &text);
	snprintf(
		line, sizeof(line),
		"\nafterglow_failures_recorded_total{namespace=\"ml\",cluster=\"%s\",owner_kind=\"RayJob\",owner_name=\"train\","
		"class=\"%s\",container=\"ray-worker\",confidence=\"certain\"} ",
		cluster, class);
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
	assert_int_equal(counts.series.map.n, FAILURE_COUNTS_MAX);
	assert_true(value_of("job-0", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == 2);
	assert_true(value_of("job-1", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == -1);
	assert_true(value_of("one-more", "Killed", 2 * FAILURE_COUNTS_ZERO_NS) == 1);
}

static void a_namespace_with_many_series_displaces_none_of_another(void **state)
{
	char name[32];
	(void)state;

	add("victim", "Killed", 0);
	namespace = "hostile";
	for (int i = 0; i < FAILURE_COUNTS_MAX + 100; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		add(name, "Killed", i + 1);
	}
	namespace = "ml";
	assert_int_equal(counts.series.map.n, FAILURE_COUNTS_MAX);
	assert_true(value_of("victim", "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
	/* Of all namespaces with as many series, the one with the oldest failure gives way. */
	for (int i = 1; i < FAILURE_COUNTS_MAX / 2; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		add(name, "Killed", 2 * FAILURE_COUNTS_MAX + i);
	}
	assert_true(value_of("victim", "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
	add("one-more", "Killed", 3 * FAILURE_COUNTS_MAX);
	assert_int_equal(counts.series.map.n, FAILURE_COUNTS_MAX);
	assert_true(value_of("victim", "Killed", FAILURE_COUNTS_ZERO_NS) == -1);
}

static void a_hostile_name_breaks_no_line(void **state)
{
	char name[400];
	(void)state;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	add("a\"} 7\nb\\8\n", "Killed", 0);
	add(name, "Killed", 0);
	name[63] = 0;
	assert_true(value_of("a\\\"} 7 b\\\\8 ", "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
	assert_true(value_of(name, "Killed", FAILURE_COUNTS_ZERO_NS) == 1);
}

static void the_last_failure_of_a_kind_is_quoted_for_an_hour(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20);
	char verdict[2 * FAILURE_COUNTS_TEXT_MAX], at_most[FAILURE_COUNTS_TEXT_MAX];
	(void)state;

	counts.quote_verdicts = true;
	add_verdict("demo", "Killed", "The first.", 0);
	/* 300 bytes of an odd byte and characters of two bytes: the cut would be within one. */
	memset(verdict, 0, sizeof(verdict));
	verdict[0] = '.';
	for (size_t i = 1; i < 300; i += 2)
		memcpy(verdict + i, "\u00e9", 2);
	snprintf(at_most, sizeof(at_most), "%s", verdict);
	add_verdict("demo", "Killed", verdict, 1);
	failure_counts_publish(&counts, FAILURE_COUNTS_LAST_NS, &metrics);
	metrics_render(&metrics, &text);
	assert_null(strstr(strbuf_str(&text), "The first."));
	const char *line = strstr(
		strbuf_str(&text),
		"\nafterglow_failure_last{namespace=\"ml\",cluster=\"demo\",owner_kind=\"RayJob\","
		"owner_name=\"train\",class=\"Killed\",failure=\"f\",verdict=\".");
	assert_non_null(line);
	assert_non_null(strstr(line, at_most));
	assert_null(strstr(line, "\u00e9\xc3\""));
	assert_non_null(strstr(line, "\u00e9\",advice=\"a limit of \\\"2\\\" GiB\"} 1795348800\n"));
	strbuf_reset(&text);
	failure_counts_publish(&counts, 1 + FAILURE_COUNTS_LAST_NS, &metrics);
	metrics_render(&metrics, &text);
	assert_null(strstr(strbuf_str(&text), "afterglow_failure_last{"));
	assert_non_null(strstr(strbuf_str(&text), "afterglow_failures_recorded_total{"));
}

static void without_consent_no_metric_has_words_of_a_verdict(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)1 << 20);
	(void)state;

	add_verdict("demo", "Killed", "The task of another team.", 0);
	failure_counts_publish(&counts, 1, &metrics);
	metrics_render(&metrics, &text);
	assert_non_null(strstr(strbuf_str(&text), "class=\"Killed\",failure=\"f\"} "));
	assert_null(strstr(strbuf_str(&text), "another team"));
	assert_null(strstr(strbuf_str(&text), "GiB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_new_series_shows_0_before_it_shows_its_first_failure, release),
		cmocka_unit_test_teardown(later_failures_of_a_series_show_at_once, release),
		cmocka_unit_test_teardown(the_series_with_the_oldest_failure_makes_room_for_a_new_one, release),
		cmocka_unit_test_teardown(a_namespace_with_many_series_displaces_none_of_another, release),
		cmocka_unit_test_teardown(the_last_failure_of_a_kind_is_quoted_for_an_hour, release),
		cmocka_unit_test_teardown(without_consent_no_metric_has_words_of_a_verdict, release),
		cmocka_unit_test_teardown(a_hostile_name_breaks_no_line, release),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
