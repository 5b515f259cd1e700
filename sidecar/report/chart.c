/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a chart of sizes over the time before the end. */
#include "sidecar/report/chart.h"

#include <inttypes.h>
#include <string.h>

#include "lib/html.h"
#include "lib/units.h"

/*
 * In units of the SVG. The SVG is stretched to its place, but its strokes are not (vector-effect).
 */
#define WIDTH 1000.0
#define HEIGHT 1000.0

int64_t chart_size_step(int64_t top)
{
	int64_t step = 1;

	while (step < INT64_MAX / 8 && top / step >= 5)
		step *= 2;
	return step;
}

int64_t chart_time_step(int64_t span, int64_t most)
{
	static const int64_t steps_ms[] = { 10,	    20,	     50,      100,     200,
					    500,    1000,    2000,    5000,    10000,
					    15000,  30000,   60000,   120000,  300000,
					    600000, 1200000, 3600000, 7200000, 21600000 };
	int64_t step = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps_ms); i++) {
		step = steps_ms[i] * NS_PER_MS;
		if (span / step < most)
			break;
	}
	return MAX(step, span / most);
}

static double x_of(const struct chart *c, int64_t time)
{
	return WIDTH * (1 - (double)time / (double)c->from);
}

static double y_of(const struct chart *c, int64_t value)
{
	double y = HEIGHT * (1 - (double)value / (double)c->top);

	return MAX(MIN(y, HEIGHT), 0.0);
}

static double percent(double part, double whole)
{
	return 100 * part / whole;
}

/* Writes "1.5 GiB", but "2 GiB" without ".0", for an axis. */
static void add_size(struct strbuf *out, int64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	strbuf_addf(out, "%.6g %s", value, bytes ? units[unit] : "");
}

static void add_time(struct strbuf *out, int64_t before)
{
	if (before >= 60 * NS_PER_SEC && before % (60 * NS_PER_SEC) == 0)
		strbuf_addf(out, "−%" PRId64 " min", before / (60 * NS_PER_SEC));
	else if (before >= NS_PER_SEC)
		strbuf_addf(out, "−%.6g s", (double)before / (double)NS_PER_SEC);
	else
		strbuf_addf(out, "−%" PRId64 " ms", before / NS_PER_MS);
}

/* Draws the values in [from, to), which are all known. */
static void add_stretch(struct strbuf *out, const struct chart *c, const struct chart_series *s,
			size_t from, size_t to)
{
	if (s->area)
		strbuf_addf(out, "M%.1f %.0f", x_of(c, c->times[from]), HEIGHT);
	for (size_t i = from; i < to; i++)
		strbuf_addf(out, "%s%.1f %.1f", i == from && !s->area ? "M" : "L",
			    x_of(c, c->times[i]), y_of(c, s->values[i]));
	if (s->area)
		strbuf_addf(out, "L%.1f %.0fZ", x_of(c, c->times[to - 1]), HEIGHT);
	else if (to == from + 1)
		strbuf_adds(out, "h2"); /* a single point */
}

static void add_series(struct strbuf *out, const struct chart *c, const struct chart_series *s)
{
	strbuf_addf(out, "<path class=\"%s\" d=\"", s->class);
	for (size_t from = 0; from < c->n;) {
		size_t to = from;

		while (to < c->n && s->values[to] != CHART_ABSENT)
			to++;
		if (to > from)
			add_stretch(out, c, s, from, to);
		from = to + 1;
	}
	strbuf_adds(out, "\"/>\n");
}

static void add_rule(struct strbuf *out, const char *class, double y)
{
	strbuf_addf(out, "<path class=\"%s\" d=\"M0 %.1fH%.0f\"/>\n", class, y, WIDTH);
}

static void add_y_labels(struct strbuf *out, const struct chart *c)
{
	int64_t step = chart_size_step(c->top);

	for (int64_t v = 0; v <= c->top; v += step) {
		strbuf_addf(out, "<span class=\"y\" style=\"top:%.2f%%\">",
			    percent(y_of(c, v), HEIGHT));
		add_size(out, v);
		strbuf_adds(out, "</span>\n");
	}
}

static int64_t time_step(const struct chart *c)
{
	return chart_time_step(-c->from, c->small ? 3 : 6);
}

/* Writes the time of day, as "01:29:06 UTC". */
static void add_clock(struct strbuf *out, int64_t unix_ns, const char *before)
{
	strbuf_addf(out, "%s%.8s UTC", before, TIME_TEXT(unix_ns) + 11);
}

static void add_x_labels(struct strbuf *out, const struct chart *c)
{
	int64_t step = time_step(c), n = 1;

	for (int64_t before = step; before <= -c->from; before += step, n++) {
		double left = percent(x_of(c, -before), WIDTH);

		/*
		 * A label may not reach beyond the left edge or into the previous label. On a
		 * narrow screen every second label is hidden.
		 */
		if (left < 3)
			break;
		if (left > (c->small ? 78 : c->end_unix_ns ? 68 : 88))
			continue;
		strbuf_addf(out, "<span class=\"x%s\" style=\"left:%.2f%%\">",
			    n % 2 && !c->small ? " odd" : "", left);
		add_time(out, before);
		strbuf_adds(out, "</span>\n");
	}
	strbuf_addf(out, "<span class=\"x last\">%s", c->end);
	if (c->end_unix_ns && !c->small)
		add_clock(out, c->end_unix_ns, " ");
	strbuf_adds(out, "</span>\n");
}

static void add_line_labels(struct strbuf *out, const struct chart *c)
{
	for (size_t i = 0; i < c->n_lines; i++)
		if (c->lines[i].value <= c->top)
			strbuf_addf(out, "<span class=\"on %s\" style=\"top:%.2f%%\">%s</span>\n",
				    c->lines[i].class, percent(y_of(c, c->lines[i].value), HEIGHT),
				    c->lines[i].label);
}

/* The index of the last of the times up to `time`, or the first. */
static size_t chart_last_until(const struct chart *c, int64_t time)
{
	size_t i = c->n - 1;

	while (i > 0 && c->times[i] > time)
		i--;
	return i;
}

static void add_values(struct strbuf *out, const struct chart *c, size_t at)
{
	if (c->end_unix_ns)
		add_clock(out, c->end_unix_ns + c->times[at], "");
	strbuf_adds(out, c->end_unix_ns ? ", " : "");
	add_time(out, -c->times[at]);
	for (size_t i = c->n_series; i > 0; i--) {
		const struct chart_series *s = &c->series[i - 1];

		if (s->values[at] == CHART_ABSENT)
			continue;
		strbuf_adds(out, "<br>");
		html_add(out, s->name, strnlen(s->name, 40));
		strbuf_addf(out, " %s", SIZE_TEXT(s->values[at] - (s->below ? s->below[at] : 0)));
	}
}

/*
 * Covers the plot with strips. Each shows the values of its time while a pointer is on it, without
 * any script.
 */
static void add_strips(struct strbuf *out, const struct chart *c)
{
	size_t n = MIN(c->n, (size_t)CHART_STRIPS_MAX);

	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "<span class=\"at%s\" style=\"left:%.2f%%;width:%.2f%%\"><b>",
			    i >= n / 2 ? " late" : "", percent((double)i, (double)n),
			    percent(1, (double)n));
		add_values(out, c,
			   chart_last_until(c, c->from - c->from / (int64_t)n * (int64_t)(i + 1)));
		strbuf_adds(out, "</b></span>\n");
	}
}

void chart_add(struct strbuf *out, const struct chart *c)
{
	int64_t y_step = chart_size_step(c->top), x_step = time_step(c);

	strbuf_addf(
		out,
		"<div class=\"chart\"><div class=\"plot\">\n"
		"<svg viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\" role=\"img\"><title>%s</title>\n",
		WIDTH, HEIGHT, c->title);
	for (int64_t v = y_step; v <= c->top; v += y_step)
		add_rule(out, "grid", y_of(c, v));
	for (size_t i = 0; i < c->n_series; i++)
		add_series(out, c, &c->series[i]);
	for (int64_t before = x_step; before < -c->from; before += x_step)
		strbuf_addf(out, "<path class=\"tick\" d=\"M%.1f %.0fv-14\"/>\n", x_of(c, -before),
			    HEIGHT);
	for (size_t i = 0; i < c->n_lines; i++)
		if (c->lines[i].value <= c->top)
			add_rule(out, c->lines[i].class, y_of(c, c->lines[i].value));
	strbuf_addf(out, "<path class=\"end\" d=\"M%.0f 0V%.0f\"/>\n", WIDTH, HEIGHT);
	add_rule(out, "axis", HEIGHT);
	strbuf_adds(out, "</svg>\n");
	add_y_labels(out, c);
	add_line_labels(out, c);
	add_x_labels(out, c);
	add_strips(out, c);
	strbuf_adds(out, "</div></div>\n");
}
