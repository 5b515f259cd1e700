/* SPDX-License-Identifier: Apache-2.0 */
/* Makes report.html of a bundle. */
#include "sidecar/ending/page.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "sidecar/report/report_html.h"

struct texts {
	struct page_text texts[PAGE_TEXTS_MAX];
	struct strbuf contents[PAGE_TEXTS_MAX];
	size_t n;
	int rank; /* of the files that are added now */
};

static bool is_text(const char *file)
{
	return TEXT_IS_ONE_OF(strrchr(file, '.'), ".log", ".txt", ".out", ".err");
}

static bool is_backtrace(const char *file)
{
	return TEXT_IS_ONE_OF(file, "backtrace.txt", "stacks.txt");
}

/*
 * Returns the order in which files are shown: what explains the death first, then what surrounds
 * it. The log of a Ray worker's own runtime says little.
 */
static int rank_of(const char *file)
{
	if (is_backtrace(file) || strcmp(file, "kernel.log") == 0)
		return 0;
	return strstr(file, "python-core-worker") ? 2 : 1;
}

static void take_text(const struct bundle *b, const char *file, void *arg)
{
	struct texts *t = arg;

	if (t->n == PAGE_TEXTS_MAX || !is_text(file) || rank_of(file) != t->rank)
		return;
	struct strbuf *content = &t->contents[t->n];
	/* One byte more than is shown, so that the page can say that there is more. */
	strbuf_init(content, PAGE_TEXT_SHOWN + 1);
	bool from_start = is_backtrace(file);
	if ((from_start ? bundle_read_head : bundle_read_tail)(b, file, content, NULL) < 0 ||
	    content->len == 0) {
		strbuf_release(content);
		return;
	}
	snprintf(t->texts[t->n].title, sizeof(t->texts[t->n].title), "%s", file);
	t->texts[t->n].open = from_start;
	t->texts[t->n].from_start = from_start;
	t->texts[t->n].text = strbuf_str(content);
	t->texts[t->n].len = content->len;
	t->n++;
}

int page_add(struct bundle *b, const struct report *r, const struct history *h, int64_t ended_ns,
	     struct err *err)
{
	_cleanup_strbuf_ struct strbuf html = STRBUF_INIT(REPORT_HTML_MAX);
	struct texts t = { .n = 0 };
	struct page page = { .report = r, .history = h, .ended_ns = ended_ns, .texts = t.texts };
	int rc = 0;

	for (t.rank = 0; t.rank <= 2; t.rank++)
		bundle_each_file(b, take_text, &t);
	page.n_texts = t.n;
	report_to_html(&page, &html);
	/* An incomplete page is dropped; the text and the JSON are there. */
	if (!strbuf_failed(&html))
		rc = bundle_add(b, "report.html", strbuf_str(&html), html.len, err);
	while (t.n > 0)
		strbuf_release(&t.contents[--t.n]);
	return rc;
}
