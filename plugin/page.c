/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one HTML page of all failures. */
#include "plugin/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/digest/sha256.h"
#include "lib/failure_class.h"
#include "lib/html.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "plugin/failure_facts.h"

#define LANE_HEIGHT 26
#define LABEL_WIDTH 210
#define CHART_WIDTH 1000

static const char page_css[] =
#include "plugin/page_css.def"
	;

/*
 * The script compares texts and hides elements. It creates no elements, so a tenant's text cannot
 * become markup.
 */
static const char page_script[] =
#include "plugin/page_script.def"
	;

/* The filters that select a value, and where the value stands in a RayFailure. */
static const struct {
	const char *key, *label, *path;
} filters[] = {
	{ "namespace", "Namespace", "metadata.namespace" },
	{ "cluster", "Cluster", "spec.cluster" },
	{ "class", "Class", "spec.class" },
	{ "confidence", "Confidence", "spec.confidence" },
};

static void add_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	html_adds(out, value);
	strbuf_addc(out, '"');
}

/*
 * --- Head and filters
 * -----------------------------------------------------------------------------------
 */

/*
 * Adds a digest in base64 for the content security policy: 32 bytes are ten groups of three and a
 * rest of two.
 */
static void add_base64(struct strbuf *out, const unsigned char digest[static SHA256_BYTES])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < SHA256_BYTES; i += 3) {
		bool whole = i + 2 < SHA256_BYTES;
		unsigned int bits = (unsigned int)digest[i] << 16 |
				    (unsigned int)digest[i + 1] << 8 | (whole ? digest[i + 2] : 0);

		for (int shift = 18; shift >= (whole ? 0 : 6); shift -= 6)
			strbuf_addc(out, letters[bits >> shift & 63]);
	}
	strbuf_addc(out, '=');
}

/* Adds the head. Its policy lets only our script run, whatever a RayFailure contains. */
static void add_head(struct strbuf *out)
{
	unsigned char digest[SHA256_BYTES];

	sha256_bytes(page_script, strlen(page_script), digest);
	strbuf_adds(
		out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
		"script-src 'sha256-");
	add_base64(out, digest);
	strbuf_adds(
		out,
		"'\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>Failures</title>\n<style>\n");
	strbuf_adds(out, page_css);
	strbuf_adds(out, "</style></head><body><main>\n");
}

/* Adds one option for each value, in the order of the failures. */
static void add_select(const struct items *items, size_t filter, struct strbuf *out)
{
	struct strmap seen = STRMAP_INIT;

	strbuf_addf(out, "<label>%s<select name=\"%s\"><option value=\"\">all</option>",
		    filters[filter].label, filters[filter].key);
	for (size_t i = 0; i < items->n; i++) {
		const char *value = failure_str(items->all[i].failure, filters[filter].path);

		if (!*value || strmap_get(&seen, value))
			continue;
		strmap_put(&seen, value, (void *)items, NULL);
		strbuf_adds(out, "<option");
		add_attribute(out, "value", value);
		strbuf_addc(out, '>');
		html_adds(out, value);
		strbuf_adds(out, "</option>");
	}
	strbuf_adds(out, "</select></label>");
	strmap_release(&seen, NULL);
}

static void add_filters(const struct items *items, struct strbuf *out)
{
	/*
	 * Without scripts the filters do not work, so they stay hidden and all failures are shown.
	 */
	strbuf_adds(out, "<form hidden>");
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		add_select(items, i, out);
	strbuf_adds(
		out,
		"<label>Text<input name=\"text\" type=\"search\" placeholder=\"name, verdict, node\"></label>"
		"<input name=\"signature\" type=\"hidden\"></form>\n<div id=\"chips\" aria-live=\"polite\"></div>\n");
}

/*
 * --- Timeline
 * -------------------------------------------------------------------------------------------
 */

/*
 * Adds a lane for each class, in the order of their first failures; all unknown classes share one
 * lane.
 */
struct lanes {
	const char *names[FAILURE_CLASS_COUNT + 1];
	size_t n;
};

static size_t lane_of(struct lanes *lanes, const char *class)
{
	const char *name = failure_class_from_name(class) < 0 ? "?" : class;
	size_t i = 0;

	while (i < lanes->n && strcmp(lanes->names[i], name) != 0)
		i++;
	if (i == lanes->n && lanes->n < ARRAY_SIZE(lanes->names))
		lanes->names[lanes->n++] = name;
	return MIN(i, ARRAY_SIZE(lanes->names) - 1);
}

static double x_of(int64_t ns, int64_t from, int64_t to)
{
	return LABEL_WIDTH + (to > from ? (double)(ns - from) / (double)(to - from) : 0.5) *
				     (CHART_WIDTH - LABEL_WIDTH - 20);
}

/* The confidence has a shape, and the class has a colour, which CSS takes from the attribute. */
static const char *shape_of(const cJSON *failure)
{
	if (json_is(failure, "spec.confidence", "certain"))
		return "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0"; /* a circle */
	if (json_is(failure, "spec.confidence", "likely"))
		return "m0-6 6 6-6 6-6-6z"; /* a diamond */
	return "m0-6 6 11h-12z"; /* a triangle */
}

static void add_dots(const struct items *items, int64_t from, int64_t to, struct lanes *lanes,
		     struct strbuf *out)
{
	for (size_t i = 0; i < items->n; i++) {
		const struct item *item = &items->all[i];
		size_t lane = lane_of(lanes, failure_str(item->failure, "spec.class"));

		if (!item->ended_ns)
			continue;
		strbuf_addf(out, "<path d=\"M%.1f %zu%s\" data-of=\"%zu\"",
			    x_of(item->ended_ns, from, to), lane * LANE_HEIGHT + LANE_HEIGHT / 2,
			    shape_of(item->failure), i);
		add_attribute(out, "data-class", failure_str(item->failure, "spec.class"));
		strbuf_adds(out, "><title>");
		html_adds(out, failure_str(item->failure, "spec.endedAt"));
		strbuf_addc(out, ' ');
		html_adds(out, failure_str(item->failure, "spec.pod"));
		strbuf_adds(out, "</title></path>\n");
	}
}

static void add_lanes(const struct lanes *lanes, struct strbuf *out)
{
	for (size_t i = 0; i < lanes->n; i++) {
		size_t y = i * LANE_HEIGHT + LANE_HEIGHT / 2;

		strbuf_addf(
			out,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%zu\" y2=\"%zu\"/><text x=\"8\" y=\"%zu\">",
			LABEL_WIDTH, CHART_WIDTH - 10, y, y, y + 4);
		html_adds(out, lanes->names[i]);
		strbuf_adds(out, "</text>\n");
	}
}

static void add_timeline(const struct items *items, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf dots = STRBUF_INIT(out->max);
	struct lanes lanes = { 0 };
	size_t first = 0;

	while (first < items->n && !items->all[first].ended_ns)
		first++;
	if (first == items->n)
		return;
	const struct item *from = &items->all[first], *to = &items->all[items->n - 1];
	add_dots(items, from->ended_ns, to->ended_ns, &lanes, &dots);
	size_t height = lanes.n * LANE_HEIGHT + 24;
	strbuf_addf(
		out,
		"<h2>When</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">"
		"<svg viewBox=\"0 0 %d %zu\" role=\"img\" aria-label=\"Failures by class over time\">\n",
		CHART_WIDTH, height);
	add_lanes(&lanes, out);
	strbuf_add(out, strbuf_str(&dots), dots.len);
	out->failed = out->failed || strbuf_failed(&dots);
	strbuf_addf(out, "<text x=\"%d\" y=\"%zu\">", LABEL_WIDTH, height - 7);
	html_adds(out, failure_str(from->failure, "spec.endedAt"));
	strbuf_addf(out, "</text><text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", CHART_WIDTH - 10,
		    height - 7);
	html_adds(out, failure_str(to->failure, "spec.endedAt"));
	strbuf_adds(
		out,
		"</text></svg></div>\n<p class=\"soft\">● The verdict is certain. ◆ It is likely. ▲ It is unknown.</p>\n");
}

/*
 * Adds when it ended. The script writes how long ago that is, and shows the time itself under the
 * pointer.
 */
static void add_time(const cJSON *failure, struct strbuf *out)
{
	const char *ended = failure_str(failure, "spec.endedAt");

	strbuf_adds(out, "<time");
	add_attribute(out, "datetime", ended);
	strbuf_addc(out, '>');
	html_adds(out, ended);
	strbuf_adds(out, "</time>");
}

/*
 * --- Groups
 * ---------------------------------------------------------------------------------------------
 */

static void add_groups(const struct items *items, struct strbuf *out)
{
	size_t n;
	_cleanup_free_ struct failure_group *groups = failure_groups(items, &n);

	out->failed = out->failed || !groups;
	strbuf_adds(
		out,
		"<h2>By signature</h2>\n<p class=\"soft\">Failures with the same signature have the same cause. A click on a signature "
		"shows only these.</p>\n<table><thead><tr><th>Failures</th><th>Last</th><th>Signature</th><th>The last verdict</th></tr>"
		"</thead><tbody>\n");
	for (size_t i = 0; i < n; i++) {
		strbuf_adds(out, "<tr");
		add_attribute(out, "data-group", groups[i].signature);
		strbuf_addf(out, "><td>%zu</td><td>", groups[i].n);
		add_time(groups[i].last->failure, out);
		strbuf_adds(out, "</td><td><button type=\"button\" class=\"mono\">");
		html_adds(out, groups[i].signature);
		strbuf_adds(out, "</button></td><td>");
		html_adds(out, failure_str(groups[i].last->failure, "spec.verdict"));
		strbuf_adds(out, "</td></tr>\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
}

/*
 * --- Failures
 * -------------------------------------------------------------------------------------------
 */

static void add_fact(void *arg, const char *label, const char *text)
{
	struct strbuf *out = arg;

	strbuf_addf(out, "<dt>%s</dt><dd>", label);
	html_adds(out, text);
	strbuf_adds(out, "</dd>");
}

/* Whether text is a name as Kubernetes has them. Nothing else becomes a part of a command. */
static bool is_object_name(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-")];
}

/* Whether text is a path of this machine that every shell takes as it is. */
static bool is_plain_path(const char *text)
{
	return text[0] == '/' &&
	       !text[strspn(
		       text,
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@")];
}

/*
 * Adds the command that opens the report. A link would open it with scripts, and others may have
 * written it.
 */
static void add_report(const cJSON *failure, struct strbuf *out)
{
	const char *name = failure_str(failure, "metadata.name"),
		   *namespace = failure_str(failure, "metadata.namespace"),
		   *bundle = failure_str(failure, "spec.bundle");

	if (is_plain_path(bundle))
		strbuf_addf(out, "<dt>report</dt><dd><code>afterglow open --store %s</code></dd>",
			    bundle);
	else if (bundle[0] != '/' && bundle[0] && is_object_name(name) && is_object_name(namespace))
		strbuf_addf(
			out,
			"<dt>report</dt><dd><code>kubectl afterglow report %s -n %s</code></dd>",
			name, namespace);
}

static void add_failure(const struct item *item, size_t number, struct strbuf *out)
{
	const cJSON *failure = item->failure;

	strbuf_addf(out, "<details data-failure=\"%zu\"", number);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		char name[32];

		snprintf(name, sizeof(name), "data-%s", filters[i].key);
		add_attribute(out, name, failure_str(failure, filters[i].path));
	}
	add_attribute(out, "data-signature", failure_signature(failure));
	strbuf_adds(out, "><summary><b class=\"class\">");
	html_adds(out, failure_str(failure, "spec.class"));
	strbuf_adds(out, "</b> <span class=\"soft\">");
	html_adds(out, failure_str(failure, "spec.confidence"));
	strbuf_adds(out, " · ");
	add_time(failure, out);
	strbuf_adds(out, " · ");
	html_adds(out, failure_str(failure, "metadata.namespace"));
	strbuf_addc(out, '/');
	html_adds(out, failure_str(failure, "spec.pod"));
	strbuf_adds(out, "</span><br>");
	html_adds(out, failure_str(failure, "spec.verdict"));
	strbuf_adds(out, "</summary><dl>");
	add_report(failure, out);
	failure_facts_each(failure, add_fact, out);
	strbuf_adds(out, "</dl></details>\n");
}

/*
 * --- Incidents
 * ------------------------------------------------------------------------------------------
 */

/* A first cause on the page, and what followed from it. */
struct story {
	size_t first; /* its index */
	size_t n_followed;
};

/*
 * Sets of[i] to the story of the failure, NULL where its first cause is not on the page. Returns
 * how many stories and lone failures there are.
 */
static size_t stories_find(const struct items *items, struct story *stories, struct story **of)
{
	struct strmap by_id = STRMAP_INIT;
	size_t n = 0;

	for (size_t i = 0; i < items->n; i++) {
		const char *id = failure_str(items->all[i].failure, "status.incident");

		if (!*id || json_get(items->all[i].failure, "status.causedBy") ||
		    strmap_get(&by_id, id))
			continue;
		of[i] = &stories[i];
		of[i]->first = i;
		strmap_put(&by_id, id, of[i], NULL);
	}
	for (size_t i = 0; i < items->n; i++) {
		const cJSON *failure = items->all[i].failure;
		struct story *story =
			of[i] || !json_get(failure, "status.causedBy") ?
				NULL :
				strmap_get(&by_id, failure_str(failure, "status.incident"));

		if (story && strcmp(failure_str(failure, "metadata.namespace"),
				    failure_str(items->all[story->first].failure,
						"metadata.namespace")) == 0)
			(of[i] = story)->n_followed++;
		else
			n++;
	}
	strmap_release(&by_id, NULL);
	return n;
}

static void add_story(const struct items *items, struct story *const *of, size_t i,
		      struct strbuf *out)
{
	size_t n = of[i] ? of[i]->n_followed : 0;

	strbuf_adds(out, "<section class=\"incident\">\n");
	add_failure(&items->all[i], i, out);
	if (n)
		strbuf_addf(
			out,
			"<details class=\"followed\"><summary>%zu other end%s followed</summary>\n",
			n, n == 1 ? "" : "s");
	for (size_t j = 0; n && j < items->n; j++)
		if (j != i && of[j] == of[i])
			add_failure(&items->all[j], j, out);
	strbuf_adds(out, n ? "</details></section>\n" : "</section>\n");
}

/* Adds the first causes, the newest first, each with what followed from it. */
static void add_stories(const struct items *items, struct strbuf *out)
{
	_cleanup_free_ struct story *stories = calloc(MAX(items->n, (size_t)1), sizeof(*stories));
	_cleanup_free_ struct story **of = calloc(MAX(items->n, (size_t)1), sizeof(*of));

	out->failed = out->failed || !stories || !of;
	if (out->failed)
		return;
	strbuf_addf(out, "<h2>Incidents: %zu, the newest first</h2>\n",
		    stories_find(items, stories, of));
	for (size_t i = items->n; i > 0; i--)
		if (!of[i - 1] || of[i - 1]->first == i - 1)
			add_story(items, of, i - 1, out);
	strbuf_adds(out, items->n ? "" : "<p>There are none.</p>\n");
}

size_t page(const cJSON *list, const struct failure_filter *filter, int64_t now_ns,
	    struct strbuf *out)
{
	struct items whole = failure_items_of(list, filter), items = whole;

	if (whole.n > PAGE_FAILURES_MAX)
		items = (struct items){ whole.all + whole.n - PAGE_FAILURES_MAX,
					PAGE_FAILURES_MAX };
	out->failed = out->failed || !whole.all;
	add_head(out);
	strbuf_addf(
		out,
		"<h1>Failures</h1>\n<p class=\"soft\"><span id=\"shown\">%zu</span> of %zu failures, as of %s.",
		items.n, whole.n, TIME_TEXT(now_ns));
	if (items.n < whole.n)
		strbuf_addf(out, " Only the newest %d are on this page.", PAGE_FAILURES_MAX);
	strbuf_adds(out, "</p>\n");
	add_filters(&items, out);
	add_timeline(&items, out);
	add_stories(&items, out);
	if (items.n)
		add_groups(&items, out);
	strbuf_addf(out, "</main><script>%s</script></body></html>\n", page_script);
	free(whole.all);
	return items.n;
}
