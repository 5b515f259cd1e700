/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.html: the report as one self-contained page, without scripts and
 * without anything from elsewhere. Pure: values in, text out.
 */
#ifndef AFTERGLOW_SIDECAR_REPORT_REPORT_HTML_H
#define AFTERGLOW_SIDECAR_REPORT_REPORT_HTML_H

#include <stdbool.h>

#include "sidecar/report/report.h"
#include "sidecar/sample/history.h"

#define REPORT_HTML_MAX (1 << 20)
#define PAGE_TEXTS_MAX 16
#define PAGE_TEXT_SHOWN (24 * 1024) /* bytes of each text that the page shows */

/* A text that came along: kernel lines, a backtrace, the tail of a log. */
struct page_text {
	char title[160];
	const char *text;
	size_t len;
	bool open; /* shown at once; the others open when asked */
	bool from_start; /* what counts in it comes first, as in a backtrace; of a log it is the end */
};

struct page {
	const struct report *report;
	const struct history *history; /* NULL: there are no samples */
	int64_t ended_ns; /* CLOCK_BOOTTIME, as the samples' times */
	const struct page_text *texts;
	size_t n_texts;
};

/* out's ceiling should be REPORT_HTML_MAX: the page keeps below it whatever the texts hold. */
void report_to_html(const struct page *p, struct strbuf *out);

/* The charts of the samples (report_charts.c). Nothing without at least two samples. */
void report_charts(const struct page *p, struct strbuf *out);

#endif
