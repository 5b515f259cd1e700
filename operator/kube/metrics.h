/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's counters and gauges, and their Prometheus text. The table is metrics.def. */
#pragma once

#include "lib/strbuf.h"
#include "lib/strmap.h"

enum metric {
#define METRIC(id, type, name, help) METRIC_##id,
#include "operator/kube/metrics.def"
#undef METRIC
	METRIC_COUNT
};

/* The series of one metric are bounded, because labels may come from foreign answers. */
#define METRIC_SERIES_MAX 1000
/* In bytes: a value whose labels are longer is not kept. */
#define METRIC_LABELS_MAX 2048

struct metrics {
	struct strmap series[METRIC_COUNT]; /* labels -> double, or the histogram */
};

void metrics_release(struct metrics *m);

/* labels: what stands between the braces, as in code="200",method="GET"; "" for none. */
void metrics_add(struct metrics *m, enum metric metric, double value, const char *labels, ...)
	_printf_(4, 5);
void metrics_set(struct metrics *m, enum metric metric, double value, const char *labels, ...)
	_printf_(4, 5);

/* Drops all series of a metric, so that the caller can set the present ones again. */
void metrics_forget(struct metrics *m, enum metric metric);

/* Adds a value to a histogram, in seconds: from a millisecond to a minute. */
void metrics_observe(struct metrics *m, enum metric metric, double seconds, const char *labels, ...)
	_printf_(4, 5);

/* Appends the text in Prometheus' exposition format 0.0.4. */
void metrics_render(const struct metrics *m, struct strbuf *out);
