/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps how much memory the runs of each task and actor had at most. */
#include "sidecar/sample/task_memory.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

int64_t task_bucket_top(unsigned int bucket)
{
	/* A MiB times the fourth roots of 1, 2, 4 and 8. */
	static const int64_t first[] = { 1048576, 1246974, 1482911, 1763488 };

	return first[bucket % ARRAY_SIZE(first)] << bucket / ARRAY_SIZE(first);
}

static unsigned int bucket_of(int64_t peak)
{
	unsigned int low = 0, high = TASK_BUCKETS - 1;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (peak > task_bucket_top(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void others_add(struct task_need *others, const struct task_need *one)
{
	others->runs += one->runs;
	others->peak = MAX(others->peak, one->peak);
	others->at_once = MAX(others->at_once, one->at_once);
	for (size_t i = 0; i < TASK_BUCKETS; i++)
		others->by_peak[i] += one->by_peak[i];
}

/*
 * Returns the place of the name that needs least and does not run, now a free one; TASK_OTHERS if
 * there is none.
 */
static unsigned int place_vacate(struct task_memory *m)
{
	unsigned int least = TASK_OTHERS;

	for (unsigned int i = 0; i < m->n; i++)
		if (!m->list[i].running && !m->list[i].labelled &&
		    (least == TASK_OTHERS || m->list[i].peak < m->list[least].peak))
			least = i;
	if (least != TASK_OTHERS)
		others_add(&m->list[TASK_OTHERS], &m->list[least]);
	return least;
}

static unsigned int task_place_of(struct task_memory *m, const char *name)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (strcmp(m->list[i].name, name) == 0)
			return i;
	unsigned int place = m->n < TASK_NAMES_MAX ? m->n++ : place_vacate(m);
	if (place == TASK_OTHERS)
		return place;
	m->list[place] = (struct task_need){ 0 };
	snprintf(m->list[place].name, sizeof(m->list[place].name), "%s", name);
	return place;
}

unsigned int task_memory_begin(struct task_memory *m, const char *name)
{
	unsigned int place = task_place_of(m, name);
	struct task_need *need = &m->list[place];

	need->runs++;
	need->running++;
	need->by_peak[0]++;
	return place;
}

void task_memory_raise(struct task_memory *m, unsigned int place, int64_t from, int64_t to)
{
	struct task_need *need = &m->list[place];

	need->by_peak[bucket_of(from)]--;
	need->by_peak[bucket_of(to)]++;
	need->peak = MAX(need->peak, to);
	if (need->labelled || place == TASK_OTHERS || need->peak < TASK_LABEL_FROM ||
	    m->n_labelled == TASK_LABELS_MAX)
		return;
	need->labelled = true;
	m->n_labelled++;
}

void task_memory_end(struct task_memory *m, unsigned int place)
{
	m->list[place].running--;
}

void task_memory_swept(struct task_memory *m, int64_t beside)
{
	for (unsigned int i = 0; i <= TASK_OTHERS; i++)
		m->list[i].at_once = MAX(m->list[i].at_once, m->list[i].running);
	m->beside = MAX(m->beside, beside);
}
