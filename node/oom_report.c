/* SPDX-License-Identifier: Apache-2.0 */
/* Collects an OOM killer's report, and leaves out what is not for the victim's pod. */
#include "node/oom_report.h"

#include <string.h>

/* Room for the line with the limit and the victim, which comes last: one record of /dev/kmsg. */
#define RESERVE 8192

void oom_report_init(struct oom_report *r)
{
	*r = (struct oom_report){ .records = STRBUF_INIT(OOM_REPORT_MAX) };
}

void oom_report_release(struct oom_report *r)
{
	strbuf_release(&r->records);
	oom_report_init(r);
}

static void oom_report_keep(struct oom_report *r, const char *data, size_t len)
{
	strbuf_add(&r->records, data, len);
	strbuf_add(&r->records, "", 1);
}

void oom_report_begin(struct oom_report *r, const struct kernel_line *l, const char *data,
		      size_t len)
{
	oom_report_release(r);
	r->began_us = l->time_us ? l->time_us : 1;
	oom_report_keep(r, data, len);
}

void oom_report_add(struct oom_report *r, const struct kernel_line *l, const char *data, size_t len)
{
	if (!r->began_us)
		return;
	switch (l->kind) {
	case KERNEL_LINE_OOM_INVOKER:
		r->invoker = r->invoker ? r->invoker : l->pid;
		return;
	case KERNEL_LINE_OOM_CONSTRAINT:
		r->victim = l->victim;
		r->victim_pid = l->pid;
		r->within = l->within;
		oom_report_keep(r, data, len);
		return;
	case KERNEL_LINE_OOM_MEMORY:
	case KERNEL_LINE_OOM_CGROUP:
	case KERNEL_LINE_OOM_ROW:
		if (r->records.len + len + 1 <= OOM_REPORT_MAX - RESERVE)
			oom_report_keep(r, data, len);
		else
			r->cut = r->cut || l->kind == KERNEL_LINE_OOM_ROW;
		return;
	case KERNEL_LINE_OTHER:
	case KERNEL_LINE_OOM_BEGIN:
	case KERNEL_LINE_OOM_GROUP:
	case KERNEL_LINE_PROCESS:
	case KERNEL_LINE_GPU:
	case KERNEL_LINE_DEVICE:
		return;
	}
}

/* Calls fn for each line until it returns false. */
static void oom_report_each(const struct oom_report *r,
			    bool (*fn)(const struct kernel_line *l, void *arg), void *arg)
{
	const char *data = strbuf_str(&r->records), *end = data + r->records.len;
	struct kernel_line l;

	for (const char *p = data; p < end; p += strlen(p) + 1)
		if (kernel_line_parse(p, strlen(p), &l) && !fn(&l, arg))
			return;
}

struct question {
	pid_t task, process;
	bool found;
};

static bool find_thread(const struct kernel_line *l, void *arg)
{
	struct question *q = arg;

	q->found = l->kind == KERNEL_LINE_OOM_ROW && l->task == q->task && l->pid == q->process;
	return !q->found;
}

bool oom_report_is_victim(const struct oom_report *r, pid_t task)
{
	struct question q = { .task = task,
			      .process = r->victim_pid,
			      .found = r->victim_pid == task };

	if (!r->victim_pid || task <= 0)
		return false;
	/* Where the process's first thread has ended, the kernel names another one. */
	if (!q.found)
		oom_report_each(r, find_thread, &q);
	return q.found;
}

struct reading {
	const struct oom_report *report;
	const char *pod_uid;
	const struct oom_report_reader *reader;
	bool table; /* the table fits */
	unsigned int rows;
};

static bool oom_report_is_for(const struct reading *s, pid_t pid)
{
	const struct oom_report *r = s->report;

	if (r->within)
		return true;
	if (r->victim_pid && pid == r->victim_pid && strcmp(r->victim.pod_uid, s->pod_uid) == 0)
		return true;
	return pid > 0 && s->reader->is_of(pid, s->pod_uid, s->reader->arg);
}

static bool count_row(const struct kernel_line *l, void *arg)
{
	struct reading *s = arg;

	if (l->kind == KERNEL_LINE_OOM_ROW && l->pid && oom_report_is_for(s, l->pid))
		s->rows++;
	return s->rows <= OOM_REPORT_ROWS_MAX;
}

static bool oom_report_read_line(const struct kernel_line *l, void *arg)
{
	const struct reading *s = arg;

	if (l->kind == KERNEL_LINE_OOM_BEGIN && !oom_report_is_for(s, s->report->invoker)) {
		char text[KERNEL_TEXT_MAX];
		struct kernel_line nameless = *l;

		kernel_line_hide_name(&nameless, text);
		s->reader->take(&nameless, s->reader->arg);
		return true;
	}
	if (l->kind == KERNEL_LINE_OOM_ROW &&
	    (!s->table || (l->pid && !oom_report_is_for(s, l->pid))))
		return true;
	if (l->kind == KERNEL_LINE_OOM_CGROUP && l->victim.pod_uid[0] &&
	    strcmp(l->victim.pod_uid, s->pod_uid) != 0)
		return true;
	s->reader->take(l, s->reader->arg);
	return true;
}

void oom_report_read(const struct oom_report *r, const char *pod_uid,
		     const struct oom_report_reader *reader)
{
	struct reading s = { .report = r, .pod_uid = pod_uid, .reader = reader };

	oom_report_each(r, count_row, &s);
	s.table = !r->cut && s.rows <= OOM_REPORT_ROWS_MAX;
	oom_report_each(r, oom_report_read_line, &s);
}
