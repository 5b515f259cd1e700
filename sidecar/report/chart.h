/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws a chart of sizes over the time before the end: SVG for the shapes, HTML for the
 * texts, so that these keep their size when the chart shrinks on a phone.
 * Pure. The classes of the elements are styled by report_css.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/strbuf.h"

#define CHART_POINTS_MAX 600
#define CHART_SERIES_MAX 5
#define CHART_STRIPS_MAX 40 /* a pointer over one shows the values of its time */
#define CHART_ABSENT INT64_MIN /* a value that is not known: the line has a gap */

struct chart_series {
	const char *class; /* of its path, static text */
	bool area; /* filled down to the axis, else a line; series are drawn in order */
	const int64_t *values; /* one for each of the chart's times */
	const char *name; /* for the values that a pointer shows; may come from a container */
	/* of a stack: the values of the layer below, which are no part of its own; NULL: none */
	const int64_t *below;
};

struct chart_line {
	const char *class, *label; /* static text, or made by us */
	int64_t value;
};

struct chart {
	const char *title; /* what it shows, for people who cannot see it */
	const int64_t *times; /* ns relative to the end, ascending, at most 0 */
	size_t n; /* at least 1 */
	const struct chart_series *series;
	size_t n_series;
	/* horizontal lines, such as the limit; lines above the scale are left out */
	const struct chart_line *lines;
	size_t n_lines;
	int64_t from; /* ns, the left edge: negative */
	int64_t top; /* bytes, the upper edge: positive */
	const char *end; /* what the right edge is: "the end"; static text */
	int64_t end_unix_ns; /* when that was; 0: not known */
	bool small; /* it has little width: fewer labels */
};

/* Appends the chart to out. */
void chart_add(struct strbuf *out, const struct chart *c);

/*
 * The distance between grid lines for a scale up to top, in bytes: a power of two that gives 2 to 5
 * lines.
 */
int64_t chart_size_step(int64_t top);
/*
 * The distance between the grid lines of a time span in ns, with at most `most` lines: a round
 * number of milliseconds, seconds or minutes.
 */
int64_t chart_time_step(int64_t span, int64_t most);
