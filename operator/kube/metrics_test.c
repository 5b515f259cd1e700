/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the metrics and their text. */
#include "operator/kube/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void counters_gauges_and_histograms_are_written_as_prometheus_reads_them(void **state)
{
	static const char *const lines[] = {
		"# TYPE rest_client_requests_total counter\n",
		"rest_client_requests_total{code=\"200\",method=\"GET\"} 3\n",
		"workqueue_depth{name=\"q\"} 5\n",
		"afterglow_failures_pending 2\n",
		"# TYPE controller_runtime_reconcile_time_seconds histogram\n",
		"controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"0.001\"} 0\n",
		"controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"0.005\"} 1\n",
		"controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"1\"} 2\n",
		"controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"60\"} 2\n",
		"controller_runtime_reconcile_time_seconds_bucket{controller=\"c\",le=\"+Inf\"} 3\n",
		"controller_runtime_reconcile_time_seconds_sum{controller=\"c\"} 101.00",
		"controller_runtime_reconcile_time_seconds_count{controller=\"c\"} 3\n",
		"workqueue_work_duration_seconds_bucket{le=\"0.001\"} 1\n",
		"workqueue_work_duration_seconds_count 1\n",
	};
	struct metrics m = { 0 };
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT((size_t)1 << 20);
	(void)state;

	metrics_add(&m, METRIC_REQUESTS, 1, "code=\"%d\",method=\"%s\"", 200, "GET");
	metrics_add(&m, METRIC_REQUESTS, 2, "code=\"%d\",method=\"%s\"", 200, "GET");
	metrics_set(&m, METRIC_QUEUE_DEPTH, 7, "name=\"q\"");
	metrics_set(&m, METRIC_QUEUE_DEPTH, 5, "name=\"q\"");
	metrics_set(&m, METRIC_FAILURES_PENDING, 2, "%s", "");
	metrics_observe(&m, METRIC_RECONCILE_SECONDS, 0.005, "controller=\"c\"");
	metrics_observe(&m, METRIC_RECONCILE_SECONDS, 0.999, "controller=\"c\"");
	metrics_observe(&m, METRIC_RECONCILE_SECONDS, 100, "controller=\"c\"");
	metrics_observe(&m, METRIC_QUEUE_WORK, 0, "%s", "");
	metrics_render(&m, &out);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(strbuf_str(&out), lines[i]))
			fail_msg("no %s in\n%s", lines[i], strbuf_str(&out));
	metrics_release(&m);
}

static void series_are_bounded(void **state)
{
	struct metrics m = { 0 };
	(void)state;

	for (int i = 0; i < METRIC_SERIES_MAX + 100; i++)
		metrics_add(&m, METRIC_REQUESTS, 1, "code=\"%d\"", i);
	assert_int_equal(m.series[METRIC_REQUESTS].n, METRIC_SERIES_MAX);
	metrics_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_gauges_and_histograms_are_written_as_prometheus_reads_them),
		cmocka_unit_test(series_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
