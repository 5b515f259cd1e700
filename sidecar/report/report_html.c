/* SPDX-License-Identifier: Apache-2.0 */
/* Writes report.html, the report as one self-contained page. */
#include "sidecar/report/report_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/html.h"
#include "lib/units.h"

/* The page without its texts fits into the other part; each byte of a text may become six. */
#define TEXTS_ROOM (REPORT_HTML_MAX - 8192)

/*
 * Light and dark, for desktops, phones and paper. Colour-blind people can distinguish blue, orange,
 * violet and grey, too.
 */
static const char report_css[] =
#include "sidecar/report/report_css.def"
	;

static void add_row(struct strbuf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(out, "<dt>%s</dt><dd>", name);
	html_add_in(out, "", value, "</dd>\n");
}

static void add_head(const struct report *r, struct strbuf *out)
{
	/*
	 * The policy forbids everything but the styles above, so no script could run even if one
	 * got into the page.
	 */
	strbuf_adds(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline'\">\n"
		"<meta name=\"generator\" content=\"Afterglow " AFTERGLOW_VERSION "\">\n<title>");
	html_adds(out, failure_class_name(r->verdict.class));
	html_add_in(out, " · ", r->id.pod ? r->id.pod : r->id.container, "</title>\n<style>\n");
	strbuf_adds(out, report_css);
	strbuf_adds(out, "</style>\n</head>\n<body>\n<main>\n");
}

/* Formats a time as "2026-11-21 01:29:06.324 UTC". */
static void format_when(int64_t unix_ns, char *buf, size_t size)
{
	char when[TIME_TEXT_MAX];

	time_format(unix_ns, when);
	snprintf(buf, size, "%.10s %.12s UTC", when, when + 11);
}

static void add_verdict(const struct report *r, struct strbuf *out)
{
	const struct verdict *v = &r->verdict;

	strbuf_adds(out, "<p class=\"kicker\">Afterglow · ");
	html_adds(out, r->id.container);
	if (r->id.pod) {
		strbuf_adds(out, " of ");
		html_adds(out, r->id.pod);
	}
	strbuf_adds(out, "</p>\n<h1>");
	html_adds(out, v->sentence);
	strbuf_addf(out, "</h1>\n<ul class=\"chips\"><li class=\"class\">%s</li><li>%s</li>",
		    failure_class_name(v->class),
		    v->confidence == CONFIDENCE_UNKNOWN ? "cause unknown" :
							  confidence_name(v->confidence));
	if (v->exit_code >= 0)
		strbuf_addf(out, "<li>exit code %d</li>", v->exit_code);
	if (v->signal && signal_name(v->signal))
		strbuf_addf(out, "<li>%s</li>", signal_name(v->signal));
	strbuf_adds(out, "</ul>\n");
}

static void add_diagnosis(const struct report *r, struct strbuf *out)
{
	if (!r->diagnosis[0] && !r->advice[0])
		return;
	strbuf_adds(out, "<div class=\"lead\">");
	if (r->diagnosis[0]) {
		html_add_in(out, "<p>", r->diagnosis, "</p>");
	}
	if (r->advice[0]) {
		html_add_in(out, "<p class=\"try\"><b>Try:</b> ", r->advice, "</p>");
	}
	strbuf_adds(out, "</div>\n");
}

/*
 * Whether text is a name as Kubernetes has them. Nothing else becomes a part of a command, which a
 * reader copies into a shell.
 */
static bool is_object_name(const char *text)
{
	return text && *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-")];
}

/*
 * Adds what to run next. A click on a command selects all of it: the page has no script that could
 * copy it.
 */
static void add_commands(const struct report *r, struct strbuf *out)
{
	if (!is_object_name(r->id.pod) || !is_object_name(r->id.namespace))
		return;
	strbuf_addf(
		out,
		"<dt>Save the evidence</dt><dd><code>kubectl afterglow bundle %s evidence -n %s</code></dd>\n"
		"<dt>What followed</dt><dd><code>kubectl afterglow incidents -n %s</code></dd>\n",
		r->id.pod, r->id.namespace, r->id.namespace);
}

static void add_facts(const struct report *r, struct strbuf *out)
{
	char when[64] = "", ran[DURATION_TEXT_MAX], line[600] = "";

	strbuf_adds(out, "<dl>\n");
	if (r->ended_unix_ns) {
		format_when(r->ended_unix_ns, when, sizeof(when));
		snprintf(line, sizeof(line), "%s", when);
		if (r->started_unix_ns)
			snprintf(line, sizeof(line), "%s, %s after its start", when,
				 duration_format(r->ended_unix_ns - r->started_unix_ns, ran));
	}
	add_row(out, "When", line);
	if (r->id.pod) {
		snprintf(line, sizeof(line), "%s/%s", r->id.namespace ? r->id.namespace : "?",
			 r->id.pod);
		add_row(out, "Pod", line);
	}
	add_row(out, "Ray cluster", r->id.cluster);
	add_row(out, "Node", r->id.node);
	add_row(out, "Repeated", report_repeats(&r->keeping, line));
	add_row(out, "Dropped", report_dropped(&r->keeping, line));
	add_row(out, "Kept in", r->bundle);
	add_row(out, "Core", report_core_place(r, line));
	add_commands(r, out);
	strbuf_adds(out, "</dl>\n");
}

/* --- Memory --- */

static void add_bar(struct strbuf *out, const char *name, int64_t value, int64_t whole)
{
	if (value < 0)
		return;
	strbuf_addf(
		out,
		"<span>%s</span><span class=\"v\">%s</span><span class=\"track\"><span class=\"fill\" "
		"style=\"width:%.1f%%\"></span></span>\n",
		name, SIZE_TEXT(value),
		MIN(100.0, 100.0 * (double)value / (double)MAX(whole, (int64_t)1)));
}

static void add_accounting(const struct report *r, struct strbuf *out)
{
	const struct memory *m = &r->memory;
	int64_t whole = m->limit > 0 ? m->limit : m->usage;

	if (!report_counts_differ(r))
		return;
	strbuf_addf(
		out,
		"<div class=\"card\"><h3>The same memory, as %s count it%s</h3>\n<div class=\"bars\">\n",
		r->of_command ? "the kernel and Ray" : "the kernel, the kubelet and Ray",
		m->limit > 0 ? ", against the limit" : "");
	add_bar(out, "kernel", m->usage, whole);
	if (!r->of_command)
		add_bar(out, "kubelet", memory_kubelet(m), whole);
	add_bar(out, "Ray", memory_ray(m), whole);
	strbuf_addf(
		out,
		"</div>\n<p class=\"note\">The limit is held against the kernel's number.%s</p></div>\n",
		r->of_command ?
			" Ray leaves out all file pages." :
			" The kubelet leaves out inactive file pages (its “working set”), Ray all file pages.");
}

/* Adds one sentence with the numbers of the moment that is shown. */
static void add_moment(const struct report *r, struct strbuf *out)
{
	const struct memory *m = &r->memory;

	if (m->usage < 0) {
		strbuf_adds(out, "<p>No sample was taken before the end.</p>\n");
		return;
	}
	strbuf_addf(out, "<p>%s", SIZE_TEXT(m->usage));
	if (m->limit > 0)
		strbuf_addf(out, " of %s", SIZE_TEXT(m->limit));
	else
		strbuf_adds(out, ", no limit");
	strbuf_adds(out, " in the last sample");
	report_add_age(r, out);
	if (m->peak >= 0)
		strbuf_addf(out, "; peak %s", SIZE_TEXT(m->peak));
	if (m->swap > 0)
		strbuf_addf(out, "; %s swapped out", SIZE_TEXT(m->swap));
	if (m->psi_some > 0)
		strbuf_addf(out, "; %.1f %% of the last 10 s some task waited for memory",
			    (double)m->psi_some / 100);
	strbuf_adds(out, ".</p>\n");
}

static void add_object_store(const struct ray_node *n, struct strbuf *out)
{
	/*
	 * Without Ray, what is in /dev/shm is hardly an object store, and outside a container it
	 * belongs to the whole machine.
	 */
	if (n->shm_used < 0 || (n->raylet == 0 && n->object_store < 0))
		return;
	strbuf_addf(out, "<p>/dev/shm, where Ray keeps its objects: %s used",
		    SIZE_TEXT(n->shm_used));
	if (n->shm_size > 0)
		strbuf_addf(out, " of %s", SIZE_TEXT(n->shm_size));
	if (n->object_store > 0)
		strbuf_addf(out, "; the object store may have %s", SIZE_TEXT(n->object_store));
	strbuf_adds(out, ".</p>\n");
}

static void add_components(const struct components *c, struct strbuf *out)
{
	int64_t most = c->n ? MAX(c->list[0].own, (int64_t)1) : 1;

	if (c->n < 2)
		return;
	strbuf_adds(
		out,
		"<div class=\"card long\"><h3>All processes by name</h3>\n<table><thead><tr><th>Name</th>"
		"<th class=\"n\">Count</th><th class=\"n\">RSS − SHR</th><th class=\"n wide\">Largest</th>"
		"<td class=\"wide\"></td></tr></thead><tbody>\n");
	for (size_t i = 0; i < c->n; i++) {
		strbuf_adds(out, "<tr><td class=\"name\">");
		html_adds(out, c->list[i].name);
		strbuf_addf(
			out,
			"</td><td class=\"n\">%" PRIu32
			"</td><td class=\"n\">%s</td><td class=\"n wide\">%s</td>"
			"<td class=\"bar\"><span class=\"track\"><span class=\"fill\" style=\"width:%.1f%%\"></span></span>"
			"</td></tr>\n",
			c->list[i].count, SIZE_TEXT(c->list[i].own), SIZE_TEXT(c->list[i].largest),
			100.0 * (double)c->list[i].own / (double)most);
	}
	if (c->rest_count)
		strbuf_addf(out,
			    "<tr><td>others</td><td class=\"n\">%" PRIu32
			    "</td><td class=\"n\">%s</td>"
			    "<td class=\"n wide\"></td><td class=\"bar\"></td></tr>\n",
			    c->rest_count, SIZE_TEXT(c->rest_own));
	strbuf_adds(out, "</tbody></table></div>\n");
}

/* --- Processes --- */

static void add_process(const struct process *p, struct strbuf *out)
{
	strbuf_addf(out, "<tr><td class=\"n\">%d</td><td class=\"name\">", (int)p->pid);
	html_adds(out, p->name);
	if (p->command[0] && strcmp(p->command, p->name) != 0) {
		html_add_in(out, "<small>", p->command, "</small>");
	}
	strbuf_addf(out, "</td><td class=\"n\">%s</td><td class=\"n wide\">%s</td><td class=\"n\">",
		    SIZE_TEXT(process_own(p)), SIZE_TEXT(p->shared));
	if (p->growth == GROWTH_UNKNOWN || p->growth == 0)
		strbuf_adds(out, p->growth ? "" : "0");
	else
		strbuf_addf(out, "%s%s/s", p->growth < 0 ? "−" : "+",
			    SIZE_TEXT(p->growth < 0 ? -p->growth : p->growth));
	strbuf_adds(out, "</td></tr>\n");
}

static void add_processes(const struct report *r, struct strbuf *out)
{
	if (!r->n_top)
		return;
	strbuf_adds(
		out,
		"<h2 id=\"processes\">Processes</h2>\n<div class=\"card long\"><table><thead><tr><th class=\"n\">PID</th><th>Name</th>"
		"<th class=\"n\">RSS − SHR</th><th class=\"n wide\">SHR</th><th class=\"n\">Growth</th></tr></thead>"
		"<tbody>\n");
	for (size_t i = 0; i < r->n_top; i++)
		add_process(&r->top[i], out);
	strbuf_adds(out, "</tbody></table>\n");
	if (r->n_processes > r->n_top)
		strbuf_addf(out, "<p class=\"note\">The %zu largest of %" PRIu32 ".</p>\n",
			    r->n_top, r->n_processes);
	strbuf_adds(out, "</div>\n");
}

/* --- Evidence, and what is missing --- */

static void add_missing(const struct verdict *v, struct strbuf *out)
{
	if (!v->n_missing)
		return;
	strbuf_adds(out, "<h2>Missing</h2>\n<ul class=\"facts\">\n");
	for (unsigned int i = 0; i < v->n_missing; i++) {
		html_add_in(out, "<li>", v->missing[i].what, " <span class=\"note\">needs ");
		html_add_in(out, "", v->missing[i].needs, "</span></li>\n");
	}
	strbuf_adds(out, "</ul>\n");
}

static void add_evidence(const struct verdict *v, struct strbuf *out)
{
	if (!v->n_evidence && !v->n_missing)
		return;
	strbuf_adds(out, "<div class=\"card\">\n");
	if (v->n_evidence)
		strbuf_adds(out, "<h2>Evidence</h2>\n<ul class=\"facts\">\n");
	for (unsigned int i = 0; i < v->n_evidence; i++) {
		html_add_in(out, "<li><span class=\"src mono\">", v->evidence[i].source, "</span>");
		html_add_in(out, "", v->evidence[i].text, "</li>\n");
	}
	strbuf_adds(out, v->n_evidence ? "</ul>\n" : "");
	add_missing(v, out);
	strbuf_adds(out, "</div>\n");
}

/* Adds links to the parts below. Each part is there, or at least its title. */
static void add_links(const struct page *p, struct strbuf *out)
{
	strbuf_adds(out, "<nav aria-label=\"Parts of the report\"><a href=\"#memory\">Memory</a>");
	strbuf_adds(out, p->report->n_top ? " <a href=\"#processes\">Processes</a>" : "");
	strbuf_adds(out, p->n_texts ? " <a href=\"#logs\">Logs</a>" : "");
	strbuf_adds(out, "</nav>\n");
}

/* --- Texts --- */

/* Returns the first or the last lines, at most PAGE_TEXT_SHOWN bytes. */
static const char *part_of(const struct page_text *t, size_t *ret_len)
{
	const char *from = t->text, *newline;

	*ret_len = t->len;
	if (t->len <= PAGE_TEXT_SHOWN)
		return from;
	if (t->from_start) {
		newline = memrchr(from, '\n', PAGE_TEXT_SHOWN);
		*ret_len = newline ? (size_t)(newline + 1 - from) : PAGE_TEXT_SHOWN;
		return from;
	}
	from += t->len - PAGE_TEXT_SHOWN;
	newline = memchr(from, '\n', PAGE_TEXT_SHOWN);
	if (newline && newline + 1 < t->text + t->len)
		from = newline + 1;
	*ret_len = (size_t)(t->text + t->len - from);
	return from;
}

/*
 * Explains the first line of the kernel's report of an OOM kill, which readers take for the
 * culprit.
 */
static void add_first_line(const char *text, size_t len, struct strbuf *out)
{
	static const char invoked[] = " invoked oom-killer";
	const char *end = memmem(text, len, invoked, sizeof(invoked) - 1), *name = end;

	if (!end)
		return;
	while (name > text && name[-1] != ' ' && name[-1] != '\n')
		name--;
	strbuf_adds(out, "<p class=\"note\">“");
	html_add(out, name, (size_t)(end - name) + sizeof(invoked) - 1);
	strbuf_adds(
		out,
		"” says who asked for memory when none was left, and not who took it. What was killed is in the line “Killed process”.</p>");
}

static void add_text(const struct page_text *t, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf section = STRBUF_INIT(PAGE_TEXT_SHOWN * 6 + 4096);
	size_t len;
	const char *from = part_of(t, &len);

	strbuf_addf(&section, "<details class=\"card long\"%s><summary>", t->open ? " open" : "");
	html_add_in(&section, "", t->title, "</summary>\n");
	if (len < t->len)
		strbuf_addf(&section,
			    "<p class=\"note\">The %s of it; the bundle holds the rest.</p>",
			    t->from_start ? "beginning" : "end");
	add_first_line(from, len, &section);
	strbuf_adds(&section, "<pre>");
	html_add(&section, from, len);
	strbuf_adds(&section, "</pre></details>\n");
	/*
	 * A section is added whole or not at all, because half of one would leave elements of the
	 * page open.
	 */
	if (!strbuf_failed(&section) && out->len + section.len <= MIN(out->max, (size_t)TEXTS_ROOM))
		strbuf_add(out, strbuf_str(&section), section.len);
}

/* --- Last words --- */

#define EXCEPTION_MAX 4096

/* Returns where the last traceback of Python in the text begins; NULL: it has none. */
static const char *last_traceback(const struct page_text *t)
{
	static const char head[] = "Traceback (most recent call last):";
	const char *found = NULL, *at = t->text, *end = t->text + t->len;

	while ((at = memmem(at, (size_t)(end - at), head, sizeof(head) - 1)) != NULL) {
		found = at;
		at += sizeof(head) - 1;
	}
	return found;
}

/*
 * Returns the length of a traceback: its frames, and the exception up to a line that is empty or
 * past EXCEPTION_MAX.
 */
static size_t traceback_length(const char *from, const char *end)
{
	const char *at = from;

	end = MIN(end, from + EXCEPTION_MAX);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (newline == at)
			break;
		at = newline ? newline + 1 : end;
	}
	return (size_t)(at - from);
}

static void add_words_card(const char *title, const char *file, const char *text, size_t len,
			   struct strbuf *out)
{
	strbuf_addf(out, "<div class=\"card long\"><h2>%s", title);
	html_add_in(out, "", file, "</h2>\n<pre>");
	html_add(out, text, len);
	strbuf_adds(out, "</pre></div>\n");
}

/* Adds the last exception in the logs, and the last lines of Ray's process that ended first. */
static void add_words(const struct page *p, struct strbuf *out)
{
	const char *lines = p->report->last_lines;

	for (size_t i = 0; i < MIN(p->n_texts, (size_t)PAGE_TEXTS_MAX); i++) {
		const struct page_text *t = &p->texts[i];
		const char *at = last_traceback(t);

		if (!at)
			continue;
		add_words_card("The last exception in ", t->title, at,
			       traceback_length(at, t->text + t->len), out);
		break;
	}
	if (*lines)
		add_words_card("The last lines of the process that ended first", "", lines,
			       strlen(lines), out);
}

/* Whether memory is what a reader wants to see first. */
static bool is_about_memory(enum failure_class class)
{
	return failure_class_is_of_memory(class) ||
	       IS_ONE_OF(class, FAILURE_KILLED, FAILURE_EVICTED);
}

static void add_memory(const struct page *p, struct strbuf *out)
{
	const struct report *r = p->report;

	strbuf_adds(out, "<h2 id=\"memory\">Memory</h2>\n");
	add_moment(r, out);
	add_object_store(&r->node, out);
	report_charts(p, out);
	add_accounting(r, out);
	add_components(&r->components, out);
}

void report_to_html(const struct page *p, struct strbuf *out)
{
	const struct report *r = p->report;

	add_head(r, out);
	add_verdict(r, out);
	add_diagnosis(r, out);
	add_evidence(&r->verdict, out);
	add_facts(r, out);
	add_links(p, out);
	if (!is_about_memory(r->verdict.class))
		add_words(p, out);
	add_memory(p, out);
	add_processes(r, out);
	if (is_about_memory(r->verdict.class))
		add_words(p, out);
	if (p->n_texts)
		strbuf_adds(out, "<h2 id=\"logs\">Logs</h2>\n");
	for (size_t i = 0; i < MIN(p->n_texts, (size_t)PAGE_TEXTS_MAX); i++)
		if (p->texts[i].len)
			add_text(&p->texts[i], out);
	strbuf_adds(
		out,
		"<footer>Written by Afterglow " AFTERGLOW_VERSION
		". RSS − SHR is what a process holds alone, without what it shares with others, as Ray's object store.</footer>\n"
		"</main>\n</body>\n</html>\n");
}
