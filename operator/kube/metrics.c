/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the operator's counters and gauges. */
#include "operator/kube/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

static const struct {
	const char *type, *name, *help;
} table[] = {
#define METRIC(id, type, name, help) { type, name, help },
#include "operator/kube/metrics.def"
#undef METRIC
};

static const double bounds[] = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60 };

struct histogram {
	double sum;
	uint64_t n;
	uint64_t below[ARRAY_SIZE(bounds)]; /* number of values at or below each bound */
};

void metrics_release(struct metrics *m)
{
	for (size_t i = 0; i < METRIC_COUNT; i++)
		strmap_release(&m->series[i], free);
}

/*
 * Returns the series with labels of len bytes; NULL if there is no memory or there are too many
 * series. Then the value is not counted.
 */
static void *series_of(struct metrics *m, enum metric metric, size_t size, const char *labels,
		       va_list ap)
{
	char text[METRIC_LABELS_MAX];
	struct strmap *series = &m->series[metric];

	if (vsnprintf(text, sizeof(text), labels, ap) >= (int)sizeof(text))
		return NULL;
	return series->n < METRIC_SERIES_MAX ? strmap_get_or_add(series, text, size) :
					       strmap_get(series, text);
}

void metrics_add(struct metrics *m, enum metric metric, double value, const char *labels, ...)
{
	va_list ap;

	va_start(ap, labels);
	double *series = series_of(m, metric, sizeof(*series), labels, ap);
	va_end(ap);
	if (series)
		*series += value;
}

void metrics_set(struct metrics *m, enum metric metric, double value, const char *labels, ...)
{
	va_list ap;

	va_start(ap, labels);
	double *series = series_of(m, metric, sizeof(*series), labels, ap);
	va_end(ap);
	if (series)
		*series = value;
}

void metrics_forget(struct metrics *m, enum metric metric)
{
	strmap_release(&m->series[metric], free);
}

void metrics_observe(struct metrics *m, enum metric metric, double seconds, const char *labels, ...)
{
	va_list ap;

	va_start(ap, labels);
	struct histogram *h = series_of(m, metric, sizeof(*h), labels, ap);
	va_end(ap);
	if (!h)
		return;
	h->sum += seconds;
	h->n++;
	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		h->below[i] += seconds <= bounds[i];
}

static void render_histogram(const char *name, const char *labels, const struct histogram *h,
			     struct strbuf *out)
{
	const char *comma = *labels ? "," : "", *open = *labels ? "{" : "",
		   *close = *labels ? "}" : "";

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
		strbuf_addf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
			    bounds[i], h->below[i]);
	strbuf_addf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, h->n);
	strbuf_addf(out, "%s_sum%s%s%s %.17g\n", name, open, labels, close, h->sum);
	strbuf_addf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, h->n);
}

void metrics_render(const struct metrics *m, struct strbuf *out)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		struct strmap_pos pos = { 0 };
		const char *labels;
		void *value;

		strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", table[i].name, table[i].help,
			    table[i].name, table[i].type);
		while (strmap_next(&m->series[i], &pos, &labels, &value))
			if (strcmp(table[i].type, "histogram") == 0)
				render_histogram(table[i].name, labels, value, out);
			else
				strbuf_addf(out, *labels ? "%s{%s} %.17g\n" : "%s%s %.17g\n",
					    table[i].name, labels, *(double *)value);
	}
}
