/* SPDX-License-Identifier: Apache-2.0 */
/* Puts equal stacks together and writes them for people. */
#include "sidecar/stack_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"

#define NAMED_MAX 8 /* threads that are named of each group */
#define PYTHON_MARK "  Python"

struct stacked_thread {
	int pid, tid;
	const char *process, *name;
	char state; /* as in /proc/PID/stat */
	bool still, has_python;
	const char *stack; /* its lines */
	size_t len;
	size_t number; /* in the answer */
};

struct stack_group {
	const struct stacked_thread *first; /* of n that have the same stack */
	size_t n;
};

struct answer {
	struct stacked_thread *threads;
	size_t n_threads, left_out, processes;
	unsigned int stopped_us; /* the longest stop */
	int pid; /* of the process whose lines are being read */
	const char *process;
};

/* --- Reading --- */

/* "thread TID STATE MOVED NAME"; the lines of its stack follow. */
static void take_thread_line(struct answer *a, const char *line)
{
	struct stacked_thread t = { .pid = a->pid, .process = a->process, .number = a->n_threads };
	char moved[8];
	int at = 0;

	if (sscanf(line, "thread %d %c %7s %n", &t.tid, &t.state, moved, &at) != 3 || !at)
		return;
	if (a->n_threads == GROUP_THREADS_MAX) {
		a->left_out++;
		return;
	}
	t.name = line + at;
	t.still = strcmp(moved, "still") == 0;
	a->threads[a->n_threads++] = t;
}

static void take_stack_line(struct answer *a, const char *line, size_t len)
{
	struct stacked_thread *t = a->n_threads && !a->left_out ? &a->threads[a->n_threads - 1] : NULL;

	if (!t || t->pid != a->pid)
		return;
	if (!t->stack) {
		t->stack = line;
		t->has_python = strncmp(line, PYTHON_MARK, strlen(PYTHON_MARK)) == 0;
	}
	t->len = (size_t)(line + len + 1 - t->stack);
}

/* Lines that are not a thread's are written at once. */
static void take_answer_line(struct answer *a, char *line, size_t len, struct strbuf *out)
{
	unsigned int us;
	int at = 0;

	if (line[0] == ' ') {
		take_stack_line(a, line, len); /* keeps its line end */
		return;
	}
	line[len] = '\0';
	if (sscanf(line, "target %d %n", &a->pid, &at) == 1 && at) {
		a->process = line + at;
		a->processes++;
	} else if (sscanf(line, "process %*d stopped for %u us", &us) == 1)
		a->stopped_us = MAX(a->stopped_us, us);
	else if (strncmp(line, "thread ", 7) == 0)
		take_thread_line(a, line);
	else if (strncmp(line, "failed ", 7) == 0)
		strbuf_addf(out, "PID %d %s: no stacks: %s\n", a->pid, a->process ? a->process : "", line + 7);
	else if (strncmp(line, "note ", 5) == 0)
		strbuf_addf(out, a->pid ? "PID %d: %s\n" : "%.0d%s\n", a->pid, line + 5);
}

/* --- Grouping --- */

static bool is_main(const struct stacked_thread *t)
{
	return t->tid == t->pid;
}

static bool stacks_are_equal(const struct stacked_thread *a, const struct stacked_thread *b)
{
	return is_main(a) == is_main(b) && a->len == b->len && (a->len == 0 || memcmp(a->stack, b->stack, a->len) == 0);
}

static int compare_threads(const void *one, const void *other)
{
	const struct stacked_thread *a = one, *b = other;
	int r;

	if (is_main(a) != is_main(b))
		return is_main(b) - is_main(a);
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	r = a->len ? memcmp(a->stack, b->stack, a->len) : 0;
	return r ? r : a->number < b->number ? -1 : 1;
}

static int stack_groups_compare(const void *one, const void *other)
{
	const struct stack_group *a = one, *b = other;

	if (is_main(a->first) != is_main(b->first))
		return is_main(b->first) - is_main(a->first);
	if (a->first->has_python != b->first->has_python)
		return b->first->has_python - a->first->has_python;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return a->first->number < b->first->number ? -1 : 1;
}

/* Sorts the threads, so that each group is in one place. Returns the number of groups. */
static size_t group_threads(struct stacked_thread *threads, size_t n_threads, struct stack_group *groups)
{
	size_t n = 0;

	qsort(threads, n_threads, sizeof(*threads), compare_threads);
	for (size_t i = 0; i < n_threads; i++)
		if (n && stacks_are_equal(groups[n - 1].first, &threads[i]))
			groups[n - 1].n++;
		else
			groups[n++] = (struct stack_group){ &threads[i], 1 };
	qsort(groups, n, sizeof(*groups), stack_groups_compare);
	return n;
}

/* --- Writing --- */

static const char *state_text(const struct stacked_thread *t)
{
	switch (t->state) {
	case 'R':
		return t->still ? "ran" : "ran, and has gone on since: Python's lines may be later";
	case 'S':
		return t->still ? "waits" : "waited, and has gone on since: Python's lines may be later";
	case 'D':
		return "in the kernel, uninterruptible";
	case 'T':
		return "stopped by a signal";
	default:
		return "state not known";
	}
}

static void group_write(const struct stack_group *g, size_t processes, struct strbuf *out)
{
	if (is_main(g->first))
		strbuf_addf(out, "\nMain thread of %zu of %zu process%s:\n", g->n, processes, processes == 1 ? "" : "es");
	else
		strbuf_addf(out, "\n%zu other thread%s:\n", g->n, g->n == 1 ? "" : "s");
	for (size_t i = 0; i < MIN(g->n, (size_t)NAMED_MAX); i++) {
		const struct stacked_thread *t = &g->first[i];

		strbuf_addf(out, "  PID %d %s", t->pid, t->process);
		if (!is_main(t))
			strbuf_addf(out, ", thread %d %s", t->tid, t->name);
		strbuf_addf(out, ": %s\n", state_text(t));
	}
	if (g->n > NAMED_MAX)
		strbuf_addf(out, "  and %zu more\n", g->n - NAMED_MAX);
	strbuf_add(out, g->first->stack ? g->first->stack : "", g->first->len);
}

size_t stack_groups_write(char *answer, struct strbuf *out)
{
	struct answer a = { .threads = calloc(GROUP_THREADS_MAX, sizeof(*a.threads)), .process = "" };
	struct stack_group *groups;
	size_t n;

	mend_printable(answer, strlen(answer), "\n");
	for (char *line = answer, *end; a.threads && (end = strchr(line, '\n')); line = end + 1)
		take_answer_line(&a, line, (size_t)(end - line), out);
	groups = calloc(a.n_threads + 1, sizeof(*groups));
	if (a.threads && groups && a.n_threads) {
		n = group_threads(a.threads, a.n_threads, groups);
		strbuf_addf(out, "%zu process%s, %zu thread%s; a process stood still for at most %.1f ms\n", a.processes, a.processes == 1 ? "" : "es",
			    a.n_threads + a.left_out, a.n_threads + a.left_out == 1 ? "" : "s", a.stopped_us / 1000.0);
		for (size_t i = 0; i < n; i++)
			group_write(&groups[i], a.processes, out);
	}
	if (a.left_out)
		strbuf_addf(out, "\n%zu more threads are not shown\n", a.left_out);
	free(groups);
	free(a.threads);
	return a.processes;
}
