/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runs of tasks and actors among a container's processes, each with its children. */
#include <stdlib.h>

#include "sidecar/sample/processes_internal.h"

#define ANCESTORS_MAX 8 /* a child further below its task counts for itself */

void process_run_end(struct process_table *t, struct entry *e)
{
	if (e->task)
		task_memory_end(t->tasks, e->task - 1U);
	e->task = 0;
	e->task_peak = 0;
}

static bool is_task(const struct entry *e)
{
	return e->ours && !e->ended && e->title->kind == COMPONENT_TASK;
}

/*
 * Returns the process, it or one above it, whose title is that of a task; NULL: there is none.
 * Raylet starts the workers.
 */
static struct entry *task_above(const struct process_table *t, struct entry *e)
{
	struct entry *found = NULL, *above;

	for (int i = 0; i < ANCESTORS_MAX && e->ours && e->title->kind != COMPONENT_RAYLET;
	     i++, e = above) {
		if (is_task(e))
			found = e;
		above = e->ppid > 0 ? process_lookup(t, e->ppid) : NULL;
		/* A later process may have the PID of a parent that has ended. */
		if (!above || above == e || above->first_ns > e->first_ns)
			break;
	}
	return found;
}

/*
 * Sums up the memory of each task in with_children. Returns that of the processes which are neither
 * tasks nor idle workers.
 */
static int64_t tasks_sum_up(struct process_table *t)
{
	int64_t beside = 0;

	for (size_t i = 0; i < t->n; i++)
		t->entries[i].with_children = 0;
	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i], *task;

		if (!e->ours || e->ended)
			continue;
		task = task_above(t, e);
		if (task)
			task->with_children += MAX(entry_own(e), 0);
		else if (e->title->kind != COMPONENT_IDLE)
			beside += MAX(entry_own(e), 0);
	}
	return beside;
}

/*
 * Memory that came after the title was read may be that of the next task: it counts as soon as the
 * title is read again.
 */
static void run_note(struct process_table *t, struct entry *e)
{
	if (!e->named_ns || process_name_is_old(e))
		return;
	if (!e->task)
		e->task = (uint8_t)(task_memory_begin(t->tasks, process_title_label(e->title)) + 1);
	if (e->with_children <= e->task_peak)
		return;
	task_memory_raise(t->tasks, e->task - 1U, e->task_peak, e->with_children);
	e->task_peak = e->with_children;
}

void process_table_note_tasks(struct process_table *t)
{
	int64_t beside = tasks_sum_up(t);

	if (!t->tasks)
		t->tasks = calloc(1, sizeof(*t->tasks));
	if (!t->tasks)
		return;
	for (size_t i = 0; i < t->n; i++)
		if (is_task(&t->entries[i]) && t->entries[i].with_children > 0)
			run_note(t, &t->entries[i]);
	task_memory_swept(t->tasks, beside);
}

const struct task_memory *process_table_tasks(const struct process_table *t)
{
	return t->tasks;
}
