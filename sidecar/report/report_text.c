/* SPDX-License-Identifier: Apache-2.0 */
/* Writes report.txt: the verdict first, then its evidence. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "lib/utf8.h"
#include "sidecar/report/report.h"

#define COLUMNS 100
#define COMPONENTS_SHOWN 8
#define LABEL_WIDTH 13 /* two blanks, the label, and blanks up to this column */

/* Returns how much of text fits into room bytes, in whole characters. */
static size_t cut_at(const char *text, size_t room)
{
	size_t cut = strnlen(text, room + 1);

	return cut <= room ? cut : utf8_cut(text, room);
}

/* Does the same, but cuts between words if there are several. */
static size_t fold_at(const char *text, size_t room)
{
	size_t cut = cut_at(text, room);

	if (!text[cut])
		return cut;
	for (size_t blank = cut; blank > 0; blank--)
		if (text[blank] == ' ')
			return blank;
	return MAX(cut, (size_t)1);
}

/* Adds text. It is folded at COLUMNS, and all lines but the first begin with indent blanks. */
static void add_folded(struct strbuf *out, const char *text, size_t indent)
{
	for (;;) {
		size_t cut = fold_at(text, COLUMNS - indent);

		strbuf_add(out, text, cut);
		text += cut + (text[cut] == ' ');
		if (!*text)
			break;
		strbuf_addf(out, "\n%*s", (int)indent, "");
	}
	strbuf_addc(out, '\n');
}

static void add_item(struct strbuf *out, const char *label, const char *text)
{
	strbuf_addf(out, "  %-*s", LABEL_WIDTH - 2, label);
	add_folded(out, text, LABEL_WIDTH);
}

static void add_size(struct strbuf *out, const char *name, int64_t bytes)
{
	if (bytes >= 0)
		strbuf_addf(out, "%s %s", name, SIZE_TEXT(bytes));
}

/* Adds the three numbers that users compare, if they differ noticeably. */
static void add_accounting(const struct report *r, struct strbuf *out)
{
	const struct memory *m = &r->memory;
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(256);

	if (report_counts_differ(r)) {
		add_size(&line, "as counted by the kernel", m->usage);
		if (!r->of_command)
			add_size(&line, ", the kubelet", memory_kubelet(m));
		add_size(&line, ", Ray", memory_ray(m));
		add_item(out, "", strbuf_str(&line));
	}
	if (m->psi_some > 0 || m->psi_full > 0) {
		strbuf_reset(&line);
		strbuf_addf(
			&line,
			"pressure: some tasks waited for memory %.1f %% of the last 10 s, all of them %.1f %%",
			(double)MAX(m->psi_some, (int64_t)0) / 100,
			(double)MAX(m->psi_full, (int64_t)0) / 100);
		add_item(out, "", strbuf_str(&line));
	}
}

void report_add_age(const struct report *r, struct strbuf *out)
{
	int64_t age_ns = r->sample_age_ns;

	if (age_ns == -1)
		strbuf_adds(out, ", as last seen");
	else
		strbuf_addf(out, ", %s %s %s", DURATION_TEXT(age_ns < 0 ? -age_ns : age_ns),
			    age_ns < 0 ? "after" : "before", report_what_ended(r));
}

/* What the command's own processes held; of their cgroup only what bears on a limit. */
static void add_own_memory(const struct report *r, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(512);
	uint32_t count;
	int64_t own = components_total(&r->components, &count);

	add_size(&line, "", own);
	strbuf_addf(&line, " in %" PRIu32 " process%s", count, count == 1 ? "" : "es");
	report_add_age(r, &line);
	add_item(out, "memory",
		 count ? strbuf_str(&line) + 1 : "none of its processes was seen before the end");
	if (r->memory.limit < 0)
		return;
	strbuf_reset(&line);
	add_size(&line, "their cgroup, which others share, held", r->memory.usage);
	add_size(&line, " of", r->memory.limit);
	add_size(&line, "; peak", r->memory.peak);
	add_item(out, "", strbuf_str(&line));
}

static void add_memory(const struct report *r, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(512);
	const struct memory *m = &r->memory;

	if (m->usage < 0) {
		add_item(out, "memory", "no sample was taken before the end");
		return;
	}
	if (r->memory_shared) {
		add_own_memory(r, out);
		add_accounting(r, out);
		return;
	}
	add_size(&line, "", m->usage);
	if (m->limit >= 0)
		add_size(&line, " of", m->limit);
	else
		strbuf_adds(&line, ", no limit");
	report_add_age(r, &line);
	add_size(&line, ": anon", m->anon);
	add_size(&line, ", shmem", m->shmem);
	add_size(&line, ", file", m->file);
	if (m->kernel > 0)
		add_size(&line, ", kernel", m->kernel);
	if (m->swap > 0)
		add_size(&line, ", swapped out", m->swap);
	add_size(&line, "; peak", m->peak);
	/* The line begins with a blank, unless memory ran out. */
	add_item(out, "memory", strbuf_str(&line) + (line.len > 0));
	add_accounting(r, out);
}

static void add_object_store(const struct ray_node *n, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT(256);

	if (n->shm_used < 0 || n->raylet <= 0)
		return;
	add_size(&line, "/dev/shm", n->shm_used);
	if (n->shm_size > 0)
		add_size(&line, " of", n->shm_size);
	if (n->object_store > 0)
		add_size(&line, "; the object store may have", n->object_store);
	add_item(out, "objects", strbuf_str(&line));
}

static void add_growth(struct strbuf *out, int64_t growth)
{
	char cell[SIZE_TEXT_MAX + 8] = "-";

	if (growth != GROWTH_UNKNOWN)
		snprintf(cell, sizeof(cell), "%c%s/s", growth < 0 ? '-' : '+',
			 SIZE_TEXT(growth < 0 ? -growth : growth));
	strbuf_addf(out, "  %-14s", cell);
}

static void add_process(struct strbuf *out, const struct process *p, const char *indent)
{
	size_t line = out->len;

	strbuf_addf(out, "%s%-7d  %-10s  %-10s", indent, (int)p->pid, SIZE_TEXT(process_own(p)),
		    SIZE_TEXT(p->shared));
	add_growth(out, p->growth);
	strbuf_adds(out, "  ");
	line = MIN(out->len - line, (size_t)COLUMNS);
	strbuf_addf(out, "%.*s\n", (int)cut_at(p->name, COLUMNS - line), p->name);
}

void report_process_table(const struct process *top, size_t n, const char *indent,
			  struct strbuf *out)
{
	strbuf_addf(out, "%-7s  %-10s  %-10s  %-14s  %s\n", "PID", "RSS-SHR", "SHR", "GROWTH",
		    "NAME");
	for (size_t i = 0; i < n; i++)
		add_process(out, &top[i], indent);
}

static void add_when(const struct report *r, struct strbuf *out)
{
	char line[160], when[TIME_TEXT_MAX];

	if (!r->ended_unix_ns)
		return;
	time_format(r->ended_unix_ns, when);
	when[10] = ' ';
	when[strlen(when) - 1] = '\0';
	snprintf(line, sizeof(line), "%s UTC", when);
	if (r->started_unix_ns)
		snprintf(line, sizeof(line), "%s UTC, %s after its start", when,
			 DURATION_TEXT(r->ended_unix_ns - r->started_unix_ns));
	add_item(out, "when", line);
}

static void add_where(const struct report *r, struct strbuf *out)
{
	char line[512];

	if (!r->id.pod)
		return;
	snprintf(line, sizeof(line), "%s/%s%s%s%s%s", r->id.namespace ? r->id.namespace : "?",
		 r->id.pod, r->id.cluster ? " of cluster " : "", r->id.cluster ? r->id.cluster : "",
		 r->id.node ? " on node " : "", r->id.node ? r->id.node : "");
	add_item(out, "pod", line);
}

static void add_verdict(const struct report *r, struct strbuf *out)
{
	const struct verdict *v = &r->verdict;
	char line[EVIDENCE_TEXT_MAX + 64];

	if (v->exit_code >= 0) {
		snprintf(line, sizeof(line), "%d%s%s%s", v->exit_code, v->signal ? " (" : "",
			 v->signal ? signal_name(v->signal) : "", v->signal ? ")" : "");
		add_item(out, "exit", line);
	}
	snprintf(line, sizeof(line), "%s, %s", failure_class_name(v->class),
		 confidence_name(v->confidence));
	add_item(out, "class", line);
	for (unsigned int i = 0; i < v->n_evidence; i++) {
		snprintf(line, sizeof(line), "%s: %s", v->evidence[i].source, v->evidence[i].text);
		add_item(out, i ? "" : "evidence", line);
	}
}

/* Adds the process and its file. The frame is in the verdict's sentence and in the evidence. */
static void add_crash(const struct report *r, struct strbuf *out)
{
	const struct crash_info *c = &r->crash;
	char line[512], where[340], thread[64] = "";

	if (!c->known)
		return;
	crash_info_where(c, where, sizeof(where));
	if (c->threads > 1)
		snprintf(thread, sizeof(thread), ", thread %d (one of %u)", (int)c->tid,
			 c->threads);
	snprintf(line, sizeof(line), "%s (PID %d)%s%s%s%s%s", c->comm[0] ? c->comm : "?",
		 (int)c->pid, thread, where[0] ? ", in " : "", where, c->source[0] ? " at " : "",
		 c->source);
	add_item(out, "crash", line);
	if (c->python[0])
		add_item(out, "", c->python);
	if (r->backtrace && r->backtrace->len)
		add_item(out, "", "all threads: backtrace.txt");
}

/* Adds the last lines in the log of the process that ended first. */
static void add_last_lines(const struct report *r, struct strbuf *out)
{
	const char *label = "log";

	for (const char *at = r->last_lines; *at;) {
		size_t len = strcspn(at, "\n");
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)MIN(len, sizeof(line) - 1), at);
		add_item(out, label, line);
		label = "";
		at += len + (at[len] == '\n');
	}
}

static void add_component(struct strbuf *out, const char *label, uint32_t count, int64_t own,
			  const char *name)
{
	size_t line = out->len;

	strbuf_addf(out, "  %-*s%-7" PRIu32 "  %-10s  ", LABEL_WIDTH - 2, label, count,
		    SIZE_TEXT(own));
	line = MIN(out->len - line, (size_t)COLUMNS);
	strbuf_addf(out, "%.*s\n", (int)cut_at(name, COLUMNS - line), name);
}

/*
 * Adds the components, if they say more than the table of processes: some name has several
 * processes.
 */
static void add_components(const struct components *c, struct strbuf *out)
{
	uint32_t count = c->rest_count;
	int64_t own = c->rest_own;
	bool many = false;

	for (size_t i = 0; i < c->n; i++)
		many = many || c->list[i].count > 1;
	if (!many)
		return;
	strbuf_addf(out, "  %-*s%-7s  %-10s  %s\n", LABEL_WIDTH - 2, "by name", "COUNT", "RSS-SHR",
		    "NAME");
	for (size_t i = 0; i < c->n; i++)
		if (i < COMPONENTS_SHOWN)
			add_component(out, "", c->list[i].count, c->list[i].own, c->list[i].name);
		else {
			count += c->list[i].count;
			own += c->list[i].own;
		}
	if (count)
		add_component(out, "", count, own, "others");
}

static void add_signature(const struct report *r, struct strbuf *out)
{
	/* The signature is not folded, so that people can search for it. */
	if (r->signature[0])
		strbuf_addf(out, "  %-*s%s\n", LABEL_WIDTH - 2, "signature", r->signature);
}

static void add_keeping(const struct report *r, struct strbuf *out)
{
	char line[REPORT_LINE_MAX];

	if (report_repeats(&r->keeping, line)[0])
		add_item(out, "repeated", line);
	if (report_dropped(&r->keeping, line)[0])
		add_item(out, "dropped", line);
	/* The path is not folded, so that people can copy it. */
	if (r->bundle[0])
		strbuf_addf(out, "  %-*s%s\n", LABEL_WIDTH - 2, "bundle", r->bundle);
	if (r->bundle[0] && r->keeping.spooled)
		strbuf_addf(out, "%*s(still in this pod, on its way there)\n", LABEL_WIDTH, "");
	if (report_core_place(r, line)[0])
		add_item(out, "core", line);
}

/*
 * Adds what is missing. An exit code of the command's own is certain, whatever the kernel log says:
 * then that is left out.
 */
static void add_missing(const struct verdict *v, bool without_kernel_log, struct strbuf *out)
{
	const char *label = "missing";
	char line[sizeof(struct missing) + 16];

	for (unsigned int i = 0; i < v->n_missing; i++) {
		snprintf(line, sizeof(line), "%s (needs %s)", v->missing[i].what,
			 v->missing[i].needs);
		if (without_kernel_log && strstr(line, "kernel log"))
			continue;
		add_item(out, label, line);
		label = "";
	}
}

/*
 * Whether nothing but an exit code of its own is known of the command's end: no OOM kill, no crash,
 * nothing of Ray but that a driver stopped it, whose exception stands above.
 */
static bool is_plain_exit(const struct report *r)
{
	if (r->verdict.class != FAILURE_APPLICATION_ERROR || r->diagnosis[0] || r->advice[0])
		return false;
	for (unsigned int i = 0; i < r->verdict.n_evidence; i++) {
		const char *source = r->verdict.evidence[i].source,
			   *text = r->verdict.evidence[i].text;
		bool is_of_stop =
			r->verdict.stopped_its_ray && (strncmp(source, "raylet.", 7) == 0 ||
						       strncmp(text, "raylet (PID ", 12) == 0);

		if (strcmp(source, "wait status") != 0 && strncmp(source, "memory.", 7) != 0 &&
		    !is_of_stop)
			return false;
	}
	return r->verdict.confidence == CONFIDENCE_CERTAIN || r->verdict.stopped_its_ray;
}

void report_to_notice(const struct report *r, struct strbuf *out)
{
	if (!r->of_command || !is_plain_exit(r)) {
		report_to_text(r, out);
		return;
	}
	add_folded(out, r->verdict.sentence, 0);
	strbuf_addf(out, "  %-*s%s, %s\n", LABEL_WIDTH - 2, "class",
		    failure_class_name(r->verdict.class), confidence_name(r->verdict.confidence));
	add_missing(&r->verdict, true, out);
}

void report_to_text(const struct report *r, struct strbuf *out)
{
	char line[256];

	add_folded(out, r->verdict.sentence, 0);
	add_where(r, out);
	add_when(r, out);
	add_verdict(r, out);
	add_crash(r, out);
	add_last_lines(r, out);
	add_memory(r, out);
	add_object_store(&r->node, out);
	if (r->n_top) {
		strbuf_addf(out, "  %-*s", LABEL_WIDTH - 2, "top");
		snprintf(line, sizeof(line), "%*s", LABEL_WIDTH, "");
		report_process_table(r->top, r->n_top, line, out);
		if (r->n_processes > r->n_top)
			strbuf_addf(out, "%*s(%" PRIu32 " processes in all)\n", LABEL_WIDTH, "",
				    r->n_processes);
	}
	add_components(&r->components, out);
	if (r->diagnosis[0])
		add_item(out, "diagnosis", r->diagnosis);
	if (r->advice[0])
		add_item(out, "try", r->advice);
	add_missing(&r->verdict, false, out);
	add_signature(r, out);
	add_keeping(r, out);
}
