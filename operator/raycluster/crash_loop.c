/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises pods that fail, are replaced, and fail again. */
#include "operator/raycluster/crash_loop.h"

#include <string.h>

#include "lib/macros.h"
#include "operator/raycluster/names.h"

/* The first two deaths are answered at once, then the delay doubles from 10 s to 5 min. */
#define FREE_DEATHS 2
#define FIRST_DELAY_NS (10 * NS_PER_SEC)
#define LAST_DELAY_NS (300 * NS_PER_SEC)
/*
 * A pod that lived for this long has started and worked. The kubelet resets its own delay after the
 * same time.
 */
#define LONG_LIFE_NS (600 * NS_PER_SEC)
/*
 * A pod that may be created is created at once; if another operator has to take over, within 20 s.
 */
#define PROMPT_NS (20 * NS_PER_SEC)

static int64_t delay_after(unsigned deaths)
{
	int64_t delay = FIRST_DELAY_NS;

	if (deaths <= FREE_DEATHS)
		return 0;
	for (unsigned i = FREE_DEATHS + 1; i < deaths && delay < LAST_DELAY_NS; i++)
		delay *= 2;
	return MIN(delay, LAST_DELAY_NS);
}

static bool crash_loop_counts(const struct crash *crash, const char *group, int64_t now_ns)
{
	return strcmp(crash->group, group) == 0 && crash->at_ns >= now_ns - CRASH_LOOP_WINDOW_NS;
}

/*
 * Sets when the next pod may be created. The times come from the API server, whose clock may be
 * ahead of ours.
 */
static void set_next(struct crash_loop *loop, int64_t now_ns)
{
	if (loop->last && crash_loop_is(loop))
		loop->next_ns = MIN(loop->last->at_ns, now_ns) + delay_after(loop->n);
}

struct crash_loop crash_loop_of_head(const struct crash *crashes, size_t n, int64_t now_ns)
{
	struct crash_loop loop = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (!crash_loop_counts(&crashes[i], HEAD_GROUP_NAME, now_ns))
			continue;
		loop.n++;
		if (!loop.last || crashes[i].at_ns > loop.last->at_ns)
			loop.last = &crashes[i];
	}
	set_next(&loop, now_ns);
	return loop;
}

/*
 * Returns until when a new pod counts as the replacement for the row's last death. A later pod was
 * requested anew, for example by Ray's autoscaler.
 */
static int64_t prompt_until(const struct crash_loop *row)
{
	return row->last->at_ns + delay_after(row->n) + PROMPT_NS;
}

static bool crash_loop_follows(const struct crash *crash, const struct crash_loop *row)
{
	return crash->made_ns >= row->last->at_ns && crash->at_ns > row->last->at_ns &&
	       crash->made_ns <= prompt_until(row);
}

/*
 * Returns whether the death begins a new row. Pods that existed when the row's last pod died are
 * not its successors, and do not begin a row either.
 */
static bool crash_loop_begins(const struct crash *crash, const struct crash_loop *row)
{
	return !row->last ||
	       (crash->made_ns > prompt_until(row) && crash->at_ns > row->last->at_ns);
}

static bool died_young(const struct crash *crash)
{
	return crash->made_ns && crash->at_ns - crash->made_ns < LONG_LIFE_NS;
}

/*
 * Returns the earliest death that continues the row, or else one that begins another; NULL if there
 * is no later death.
 */
static const struct crash *next_death(const struct crash *crashes, size_t n, const char *group,
				      int64_t now_ns, const struct crash_loop *row, bool in_row)
{
	const struct crash *next = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct crash *crash = &crashes[i];

		if (crash_loop_counts(crash, group, now_ns) && died_young(crash) &&
		    (in_row ? crash_loop_follows(crash, row) : crash_loop_begins(crash, row)) &&
		    (!next || crash->at_ns < next->at_ns))
			next = crash;
	}
	return next;
}

static bool crash_loop_go_on(const struct crash *crashes, size_t n, const char *group,
			     int64_t now_ns, struct crash_loop *row)
{
	const struct crash *next =
		row->last ? next_death(crashes, n, group, now_ns, row, true) : NULL;

	if (next)
		row->n++;
	else if ((next = next_death(crashes, n, group, now_ns, row, false)))
		row->n = 1;
	row->last = next ? next : row->last;
	return next != NULL;
}

struct crash_loop crash_loop_of_group(const struct crash *crashes, size_t n, const char *group,
				      int64_t now_ns)
{
	struct crash_loop loop = { 0 };

	while (crash_loop_go_on(crashes, n, group, now_ns, &loop))
		;
	set_next(&loop, now_ns);
	/* The loop is over. But if a pod dies within the hour, its death continues the row. */
	if (loop.next_ns && now_ns >= loop.next_ns + LONG_LIFE_NS)
		loop = (struct crash_loop){ 0 };
	return loop;
}

bool crash_loop_is(const struct crash_loop *loop)
{
	return loop->n > FREE_DEATHS;
}
