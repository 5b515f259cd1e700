/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's counters and gauges. */
#include "operator/metrics.h"

#include <stdarg.h>

#define LABELS_MAX 256

static const struct {
	const char *type, *name, *help;
} table[] = {
#define METRIC(id, type, name, help) { type, name, help },
#include "operator/metrics.def"
#undef METRIC
};

void metrics_release(struct metrics *m)
{
	for (size_t i = 0; i < METRIC_COUNT; i++)
		strmap_release(&m->series[i], free);
}

/* NULL: no memory, or too many series; the value is then not counted. */
static double *value_of(struct metrics *m, enum metric metric, const char *labels, va_list ap)
{
	char text[LABELS_MAX];
	struct strmap *series = &m->series[metric];

	if (vsnprintf(text, sizeof(text), labels, ap) >= (int)sizeof(text))
		return NULL;
	double *value = strmap_get(series, text);
	if (value || series->n >= METRIC_SERIES_MAX)
		return value;
	value = calloc(1, sizeof(*value));
	if (value && strmap_put(series, text, value, NULL) < 0)
		free(TAKE_PTR(value));
	return value;
}

void metrics_add(struct metrics *m, enum metric metric, double value, const char *labels, ...)
{
	va_list ap;

	va_start(ap, labels);
	double *series = value_of(m, metric, labels, ap);
	va_end(ap);
	if (series)
		*series += value;
}

void metrics_set(struct metrics *m, enum metric metric, double value, const char *labels, ...)
{
	va_list ap;

	va_start(ap, labels);
	double *series = value_of(m, metric, labels, ap);
	va_end(ap);
	if (series)
		*series = value;
}

void metrics_render(const struct metrics *m, struct strbuf *out)
{
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		struct strmap_pos pos = { 0 };
		const char *labels;
		void *value;

		strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", table[i].name, table[i].help, table[i].name,
			    table[i].type);
		while (strmap_next(&m->series[i], &pos, &labels, &value))
			strbuf_addf(out, *labels ? "%s{%s} %.17g\n" : "%s%s %.17g\n", table[i].name, labels,
				    *(double *)value);
	}
}
