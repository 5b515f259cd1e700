/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the metrics' text, by a strict parser of the format. */
#include "sidecar/http/metrics.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

static struct pod_values two_containers(void)
{
	struct pod_values v = { .n_containers = 2,
				.last_failure_unix_ns = 1795224546324 * NS_PER_MS,
				.spool_bytes = 4096,
				.ships = true,
				.shipped = 3,
				.spool_bundles = 2,
				.counted = 5 };

	v.failures[FAILURE_KERNEL_OOM_CONTAINER] = 2;
	v.dropped[DROP_CORE] = 7;
	v.takes_cores = true;
	v.cores = (struct core_stats){ .captured = 9,
				       .packed = 6,
				       .packed_bytes = 123456,
				       .dropped = { [CORE_DROP_RATE] = 3 },
				       .backtraces = {
					       [BACKTRACE_MADE] = 8, [BACKTRACE_TIMEOUT] = 1 } };
	v.ship_failed[SHIP_CLOCK] = 4;
	v.containers[0] = (struct container_values){
		.name = "ray-worker",
		.n_processes = 12,
		.samples = 345,
		.delay_ns = 20 * NS_PER_MS,
		.spilled = INT64_C(1) << 30,
		.spill_left_ns = 240 * NS_PER_SEC,
		.growth = INT64_C(3600) << 20,
		.growth_left_ns = 7200 * NS_PER_SEC,
		.memory = { .limit = 4096,
			    .usage = 3000,
			    .peak = 3500,
			    .anon = 2000,
			    .file = 500,
			    .shmem = 400,
			    .inactive_file = 100,
			    .active_file = 50,
			    .oom_kill = 1,
			    .kernel = 7,
			    .swap = 0,
			    .psi_some = -1,
			    .psi_full = -1 },
	};
	v.containers[1] = (struct container_values){
		.name = "helper", .memory = MEMORY_ABSENT, .spilled = -1, .spill_left_ns = -1
	};
	return v;
}

/*
 * The grammar of the text format 0.0.4, but stricter: every series is below its HELP and TYPE, and
 * none occurs twice.
 */
static const char *read_name(const char *p)
{
	assert_true(isalpha((unsigned char)*p) || *p == '_');
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return p;
}

static const char *read_labels(const char *p)
{
	assert_int_equal(*p++, '{');
	for (;;) {
		p = read_name(p);
		assert_int_equal(*p++, '=');
		assert_int_equal(*p++, '"');
		while (*p != '"') {
			assert_true(*p && *p != '\n');
			if (*p++ == '\\') {
				assert_non_null(strchr("\\\"n", *p));
				p++;
			}
		}
		if (*++p == '}')
			return p + 1;
		assert_int_equal(*p++, ',');
	}
}

static void check_text(const char *text)
{
	char name[128] = "";
	const char *p = text;

	while (*p) {
		const char *line = p, *end;
		char *number_end;

		if (strncmp(p, "# HELP ", 7) == 0) {
			char type[16];
			int n = 0;

			end = read_name(p + 7);
			snprintf(name, sizeof(name), "%.*s", (int)(end - p - 7), p + 7);
			assert_int_equal(*end, ' ');
			p = strchr(p, '\n') + 1;
			assert_int_equal(strncmp(p, "# TYPE ", 7), 0);
			assert_int_equal(strncmp(p + 7, name, strlen(name)), 0);
			assert_int_equal(sscanf(p + 7 + strlen(name), " %15s\n%n", type, &n), 1);
			assert_true(strcmp(type, "gauge") == 0 || strcmp(type, "counter") == 0);
			/* promtool requires this of names. */
			assert_int_equal(strcmp(type, "counter") == 0,
					 strlen(name) > 6 &&
						 strcmp(name + strlen(name) - 6, "_total") == 0);
			p = strchr(p, '\n') + 1;
			continue;
		}
		end = read_name(p);
		assert_true((size_t)(end - p) == strlen(name) &&
			    strncmp(p, name, strlen(name)) == 0);
		if (*end == '{')
			end = read_labels(end);
		assert_int_equal(*end, ' ');
		/* No series occurs twice. */
		for (const char *other = text; other < line; other = strchr(other, '\n') + 1)
			assert_true(strncmp(other, line, (size_t)(end - line) + 1) != 0);
		assert_true(strtod(end + 1, &number_end) >= 0);
		assert_int_equal(*number_end, '\n');
		p = number_end + 1;
	}
}

static void assert_has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no \"%s\" in:\n%s", line, text);
}

static void the_text_is_what_prometheus_reads(void **state)
{
	struct strbuf text = STRBUF_INIT(METRICS_TEXT_MAX);
	struct pod_values v = two_containers();
	(void)state;

	metrics_render(&v, &text);
	check_text(strbuf_str(&text));
	assert_has(
		strbuf_str(&text),
		"afterglow_container_memory_bytes{container=\"ray-worker\",kind=\"usage\"} 3000\n");
	assert_has(strbuf_str(&text), "{container=\"ray-worker\",kind=\"working_set\"} 2900\n");
	assert_has(strbuf_str(&text),
		   "afterglow_container_memory_headroom_bytes{container=\"ray-worker\"} 1096\n");
	assert_has(strbuf_str(&text),
		   "afterglow_container_oom_kills_total{container=\"ray-worker\"} 1\n");
	assert_has(strbuf_str(&text),
		   "afterglow_container_sample_delay_seconds{container=\"ray-worker\"} 0.02\n");
	assert_has(
		strbuf_str(&text),
		"afterglow_container_memory_growth_bytes_per_second{container=\"ray-worker\"} 1048576\n");
	assert_has(strbuf_str(&text),
		   "afterglow_container_memory_full_seconds{container=\"ray-worker\"} 7200\n");
	assert_has(strbuf_str(&text), "afterglow_failures_total{class=\"KernelOOMContainer\"} 2\n");
	assert_has(strbuf_str(&text), "afterglow_failures_total{class=\"Segfault\"} 0\n");
	assert_has(strbuf_str(&text), "afterglow_last_failure_timestamp_seconds 1795224546.324\n");
	assert_has(strbuf_str(&text), "afterglow_spool_bytes 4096\n");
	assert_has(strbuf_str(&text), "afterglow_spool_bundles 2\n");
	assert_has(strbuf_str(&text), "afterglow_spool_failing 0\n");
	assert_has(strbuf_str(&text), "afterglow_spool_dropped_total{kind=\"core\"} 7\n");
	assert_has(strbuf_str(&text), "afterglow_spool_dropped_total{kind=\"bundle\"} 0\n");
	assert_has(strbuf_str(&text), "afterglow_failures_counted_only_total 5\n");
	assert_has(strbuf_str(&text), "afterglow_bundles_shipped_total 3\n");
	assert_has(strbuf_str(&text), "afterglow_ship_failures_total{kind=\"clock\"} 4\n");
	assert_has(strbuf_str(&text), "afterglow_store_failing 0\n");
	assert_has(strbuf_str(&text), "afterglow_cores_captured_total 9\n");
	assert_has(strbuf_str(&text), "afterglow_cores_packed_total 6\n");
	assert_has(strbuf_str(&text), "afterglow_cores_packed_bytes_total 123456\n");
	assert_has(
		strbuf_str(&text),
		"afterglow_cores_dropped_total{reason=\"rate\"} 3\nafterglow_cores_dropped_total{reason=\"no_core\"} 0\n");
	assert_has(
		strbuf_str(&text),
		"afterglow_backtraces_total{result=\"made\"} 8\nafterglow_backtraces_total{result=\"timeout\"} 1\n");
	strbuf_release(&text);
}

static void what_is_not_known_has_no_series(void **state)
{
	struct strbuf text = STRBUF_INIT(METRICS_TEXT_MAX);
	struct pod_values v = two_containers();
	(void)state;

	v.spool_bytes = -1;
	v.ships = false;
	v.takes_cores = false;
	metrics_render(&v, &text);
	check_text(strbuf_str(&text));
	assert_null(strstr(strbuf_str(&text), "container=\"helper\",kind"));
	assert_null(strstr(strbuf_str(&text), "limit_bytes{container=\"helper\""));
	assert_null(strstr(strbuf_str(&text), "growth_bytes_per_second{container=\"helper\""));
	assert_null(strstr(strbuf_str(&text), "memory_full_seconds{container=\"helper\""));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_spool_bytes "));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_spool_bundles "));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_spool_failing "));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_store_failing "));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_cores_captured_total "));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_cores_dropped_total{"));
	assert_null(strstr(strbuf_str(&text), "\nafterglow_bundles_shipped_total "));
	assert_has(strbuf_str(&text),
		   "afterglow_container_samples_total{container=\"helper\"} 0\n");
	strbuf_release(&text);
}

static void a_hostile_name_stays_one_label(void **state)
{
	struct strbuf text = STRBUF_INIT(METRICS_TEXT_MAX);
	struct pod_values v = two_containers();
	(void)state;

	snprintf(v.containers[0].name, sizeof(v.containers[0].name), "a\"} 1\nevil{b=\"\\");
	metrics_render(&v, &text);
	check_text(strbuf_str(&text));
	strbuf_release(&text);
}

static void a_name_without_a_label_has_no_series(void **state)
{
	struct strbuf text = STRBUF_INIT(METRICS_TEXT_MAX);
	struct pod_values v = two_containers();
	struct task_memory tasks = {
		.n = 2,
		.list = { { .name = "ray::large", .labelled = true, .peak = 1 << 30 },
			  { .name = "ray::small", .peak = 1 << 20 } }
	};
	(void)state;

	v.containers[0].tasks = &tasks;
	metrics_render(&v, &text);
	check_text(strbuf_str(&text));
	assert_non_null(strstr(
		strbuf_str(&text),
		"\nafterglow_container_task_peak_bytes{container=\"ray-worker\",task=\"ray::large\"} 1073741824\n"));
	assert_null(strstr(strbuf_str(&text), "ray::small"));
	strbuf_release(&text);
}

static void the_largest_text_fits(void **state)
{
	struct strbuf text = STRBUF_INIT(METRICS_TEXT_MAX);
	struct pod_values v = two_containers();
	struct task_memory tasks = { .n = TASK_LABELS_MAX };
	(void)state;

	for (int i = 0; i < TASK_LABELS_MAX; i++) {
		tasks.list[i] = (struct task_need){ .labelled = true, .peak = INT64_MAX };
		snprintf(
			tasks.list[i].name, sizeof(tasks.list[i].name),
			"%02d\"\\\n\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
			i);
	}
	v.n_containers = HTTP_CONTAINERS_MAX;
	for (int i = 0; i < HTTP_CONTAINERS_MAX; i++) {
		v.containers[i] = v.containers[0];
		snprintf(v.containers[i].name, sizeof(v.containers[i].name), "%061d%02d", 0, i);
		v.containers[i].memory.usage = INT64_MAX;
		v.containers[i].tasks = &tasks;
	}
	metrics_render(&v, &text);
	assert_false(strbuf_failed(&text));
	check_text(strbuf_str(&text));
	strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_what_prometheus_reads),
		cmocka_unit_test(what_is_not_known_has_no_series),
		cmocka_unit_test(a_hostile_name_stays_one_label),
		cmocka_unit_test(a_name_without_a_label_has_no_series),
		cmocka_unit_test(the_largest_text_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
