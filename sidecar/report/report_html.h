/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes report.html: the report as one self-contained page, without scripts,
 * which loads nothing from elsewhere. Pure.
 */
#pragma once

#include <stdbool.h>

#include "sidecar/report/report.h"
#include "sidecar/sample/history.h"

#define REPORT_HTML_MAX (1 << 20)
#define PAGE_TEXTS_MAX 16
#define PAGE_TEXT_SHOWN (24 * 1024) /* bytes of each text that the page shows */

/* A text that the page shows beside the report: kernel lines, a backtrace, the tail of a log. */
struct page_text {
	char title[160];
	const char *text;
	size_t len;
	bool open; /* it is unfolded from the start; other texts unfold at a click */
	/*
	 * a long text keeps its beginning, as a backtrace should; false: its end, as a log should
	 */
	bool from_start;
};

struct page {
	const struct report *report;
	const struct history *history; /* NULL: there are no samples */
	int64_t ended_ns; /* CLOCK_BOOTTIME, as the samples' times */
	const struct page_text *texts;
	size_t n_texts;
};

/*
 * Writes the page. out's ceiling should be REPORT_HTML_MAX; the page stays below it, however long
 * the texts are.
 */
void report_to_html(const struct page *p, struct strbuf *out);

/*
 * Writes the charts of the samples (report_charts.c). Writes nothing if there are fewer than two
 * samples.
 */
void report_charts(const struct page *p, struct strbuf *out);
