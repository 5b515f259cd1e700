/* SPDX-License-Identifier: Apache-2.0 */
/* The timelines of report.html: memory by kind against the limit, and the largest processes. */
#include <stdio.h>
#include <string.h>

#include "lib/html.h"
#include "lib/units.h"
#include "sidecar/report/chart.h"
#include "sidecar/report/report_html.h"

#define ZOOM_NS (10 * NS_PER_SEC) /* the last moments have a chart of their own, */
#define ZOOM_FROM_NS (40 * NS_PER_SEC) /* if the whole is longer than this */
#define PROCESS_LINES 5
#define KINDS 4
#define TOP_MIN ((int64_t)1 << 20) /* a smaller scale would only show noise */

/*
 * Some of the samples, oldest first. Of each stretch of time it has the one with the most memory.
 */
struct selection {
	int64_t from_ns, to_ns;
	int64_t end_ns;
	size_t n, last_slot;
	const struct sample *samples[CHART_POINTS_MAX];
};

static void find_first(const struct sample *s, void *arg)
{
	int64_t *first = arg;

	if (!*first)
		*first = s->at_ns;
}

static void select_sample(const struct sample *s, void *arg)
{
	struct selection *all = arg;

	/* Samples after the end are left out. */
	if (s->at_ns < all->from_ns || s->at_ns > all->to_ns || s->memory.usage < 0)
		return;
	size_t slot = (size_t)((double)(s->at_ns - all->from_ns) /
			       (double)(all->to_ns - all->from_ns) * (CHART_POINTS_MAX - 1));
	if (all->n && slot <= all->last_slot) {
		if (s->memory.usage > all->samples[all->n - 1]->memory.usage)
			all->samples[all->n - 1] = s;
		return;
	}
	if (all->n == CHART_POINTS_MAX)
		return;
	all->last_slot = slot;
	all->samples[all->n++] = s;
}

static int64_t kind_value(const struct memory *m, int kind)
{
	const int64_t values[KINDS] = { m->anon, m->shmem, m->kernel, m->file };

	return MAX(values[kind], 0);
}

static int64_t most_used(const struct selection *s)
{
	int64_t most = TOP_MIN;

	for (size_t i = 0; i < s->n; i++)
		most = MAX(most, s->samples[i]->memory.usage);
	return most;
}

/*
 * Returns the upper end of the scale. With a distant limit as the end, the line would be flat at
 * the bottom.
 */
static int64_t scale_top(int64_t most, int64_t limit)
{
	int64_t top = limit > 0 && most >= limit / 5 ? MAX(most, limit) : most;

	return top + top / 12;
}

struct columns {
	int64_t times[CHART_POINTS_MAX];
	int64_t values[CHART_SERIES_MAX][CHART_POINTS_MAX];
};

static void fill_times(const struct selection *s, struct columns *c)
{
	for (size_t i = 0; i < s->n; i++)
		c->times[i] = s->samples[i]->at_ns - s->end_ns;
}

static void add_memory_chart(const struct page *p, const struct selection *s, bool small,
			     struct columns *c, struct strbuf *out)
{
	const struct memory *m = &p->report->memory;

	/*
	 * The series go from the whole stack down to its lowest layer: each is painted over the one
	 * before.
	 */
	struct chart_series series[] = {
		{ "file", true, c->values[3], "file", c->values[2] },
		{ "kernel", true, c->values[2], "kernel", c->values[1] },
		{ "shmem", true, c->values[1], "shmem", c->values[0] },
		{ "anon", true, c->values[0], "anon", NULL },
		{ "usage", false, c->values[4], "usage", NULL },
	};
	char limit_label[40], warn_label[24];
	struct chart_line lines[2];
	struct chart chart = { .title = "Memory over time",
			       .times = c->times,
			       .n = s->n,
			       .series = series,
			       .n_series = ARRAY_SIZE(series),
			       .lines = lines,
			       .from = s->from_ns - s->end_ns,
			       .end = report_what_ended(p->report),
			       .end_unix_ns = p->report->ended_unix_ns,
			       .small = small };

	fill_times(s, c);
	for (size_t i = 0; i < s->n; i++) {
		int64_t sum = 0;

		for (int kind = 0; kind < KINDS; kind++) {
			sum += kind_value(&s->samples[i]->memory, kind);
			c->values[kind][i] = sum;
		}
		c->values[4][i] = s->samples[i]->memory.usage;
	}
	chart.top = scale_top(most_used(s), m->limit);
	if (m->limit > 0) {
		snprintf(limit_label, sizeof(limit_label), "limit %s", SIZE_TEXT(m->limit));
		lines[chart.n_lines++] = (struct chart_line){ "limit", limit_label, m->limit };
	}
	if (m->limit > 0 && p->report->warn_at > 0) {
		snprintf(warn_label, sizeof(warn_label), "%.0f %%: snapshots",
			 100 * p->report->warn_at);
		lines[chart.n_lines++] =
			(struct chart_line){ "warn", warn_label,
					     (int64_t)(p->report->warn_at * (double)m->limit) };
	}
	chart_add(out, &chart);
}

static void add_legend_item(struct strbuf *out, const char *name, int64_t bytes)
{
	static const char *const labels[][2] = {
		{ "anon", "anon (heap)" },
		{ "shmem", "shmem (shared memory)" },
		{ "kernel", "kernel" },
		{ "file", "file (page cache)" },
	};
	char size[SIZE_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (bytes >= 0 && strcmp(labels[i][0], name) == 0)
			strbuf_addf(out,
				    "<li><i style=\"background:var(--%s)\"></i>%s <b>%s</b></li>\n",
				    name, labels[i][1], size_format((uint64_t)bytes, size));
}

static void add_memory_legend(const struct memory *m, struct strbuf *out)
{
	strbuf_adds(out, "<ul class=\"legend\">\n");
	add_legend_item(out, "anon", m->anon);
	add_legend_item(out, "shmem", m->shmem);
	add_legend_item(out, "kernel", m->kernel);
	add_legend_item(out, "file", m->file);
	strbuf_addf(out,
		    "<li><i class=\"rule\"></i>usage, as the kernel counts <b>%s</b></li>\n</ul>\n",
		    SIZE_TEXT(m->usage));
}

static int64_t own_of(const struct sample *s, pid_t pid)
{
	for (uint32_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == pid)
			return MAX(s->top[i].rss - s->top[i].shared, 0);
	return CHART_ABSENT;
}

static const char *const line_classes[PROCESS_LINES] = { "p0", "p1", "p2", "p3", "p4" };

static void add_process_chart(const struct page *p, const struct selection *s, bool small,
			      struct columns *c, struct strbuf *out)
{
	struct chart_series series[PROCESS_LINES];
	struct chart chart = { .title = "Memory of the largest processes over time",
			       .times = c->times,
			       .n = s->n,
			       .series = series,
			       .from = s->from_ns - s->end_ns,
			       .top = TOP_MIN,
			       .end = report_what_ended(p->report),
			       .end_unix_ns = p->report->ended_unix_ns,
			       .small = small };
	size_t n = MIN(p->report->n_top, (size_t)PROCESS_LINES);

	fill_times(s, c);
	for (size_t line = 0; line < n; line++) {
		for (size_t i = 0; i < s->n; i++) {
			c->values[line][i] = own_of(s->samples[i], p->report->top[line].pid);
			chart.top = MAX(chart.top, c->values[line][i]);
		}
		/* The largest is drawn last, over the others. */
		series[n - 1 - line] =
			(struct chart_series){ line_classes[line], false, c->values[line],
					       p->report->top[line].name, NULL };
	}
	chart.n_series = n;
	chart.top += chart.top / 12;
	chart_add(out, &chart);
}

static void add_process_legend(const struct report *r, struct strbuf *out)
{
	strbuf_adds(out, "<ul class=\"legend\">\n");
	for (size_t line = 0; line < MIN(r->n_top, (size_t)PROCESS_LINES); line++) {
		const struct process *process = &r->top[line];

		strbuf_addf(out, "<li><i class=\"rule\" style=\"color:var(--%s)\"></i>",
			    line_classes[line]);
		html_adds(out, process->name);
		strbuf_addf(out, " <span class=\"note\">%d</span> <b>%s</b></li>\n",
			    (int)process->pid, SIZE_TEXT(process_own(process)));
	}
	strbuf_adds(out, "</ul>\n");
}

/* Adds a chart of the whole and, if `last` is given, one of the last moments beside it. */
static void add_charts(const struct page *p, const char *title, const struct selection *all,
		       const struct selection *last,
		       void (*add)(const struct page *p, const struct selection *s, bool small,
				   struct columns *c, struct strbuf *out),
		       struct columns *columns, struct strbuf *out)
{
	strbuf_addf(out, "%s<h3>%s</h3>\n", last ? "<div class=\"pair\"><div>" : "", title);
	add(p, all, false, columns, out);
	if (!last)
		return;
	strbuf_adds(out, "</div><div><h3>The last 10 seconds</h3>\n");
	add(p, last, true, columns, out);
	strbuf_adds(out, "</div></div>\n");
}

/* Selects the samples from from_ns on. Returns false if they are too few for a line. */
static bool select_from(const struct page *p, int64_t from_ns, struct selection *ret_selection)
{
	*ret_selection = (struct selection){ .from_ns = from_ns,
					     .to_ns = p->ended_ns,
					     .end_ns = p->ended_ns };
	history_each(p->history, select_sample, ret_selection);
	return ret_selection->n >= 2;
}

void report_charts(const struct page *p, struct strbuf *out)
{
	_cleanup_free_ struct columns *columns = calloc(1, sizeof(*columns));
	_cleanup_free_ struct selection *all = calloc(1, sizeof(*all)),
					*last = calloc(1, sizeof(*last));
	int64_t first = 0;

	if (!columns || !all || !last || !p->history)
		return;
	history_each(p->history, find_first, &first);
	if (!first || first >= p->ended_ns || !select_from(p, first, all))
		return;
	bool zoom =
		p->ended_ns - first >= ZOOM_FROM_NS && select_from(p, p->ended_ns - ZOOM_NS, last);
	strbuf_adds(out, "<div class=\"card\">\n");
	add_charts(p, "Memory", all, zoom ? last : NULL, add_memory_chart, columns, out);
	add_memory_legend(&p->report->memory, out);
	strbuf_adds(out, "</div>\n");
	if (!p->report->n_top)
		return;
	strbuf_adds(out, "<div class=\"card\">\n");
	add_charts(p, "The largest processes (RSS − SHR)", all, zoom ? last : NULL,
		   add_process_chart, columns, out);
	add_process_legend(p->report, out);
	strbuf_adds(out, "</div>\n");
}
