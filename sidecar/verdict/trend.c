/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how the memory of one process grew. */
#include "sidecar/verdict/trend.h"

#include "lib/macros.h"
#include "sidecar/verdict/at_limit.h"

#define NOISE_MIN ((int64_t)1 << 20) /* smaller steps are no growth; nor are: */
#define NOISE 0.002 /* of what there is */
#define WAITED 1000 /* hundredths of a percent: memory.high slows processes down, too */
#define DIP 0.1 /* a process that gives back this much has begun anew */

static int64_t noise(int64_t own)
{
	return MAX(NOISE_MIN, (int64_t)(NOISE * (double)own));
}

static void begin(struct trend_state *t, int64_t at_ns, int64_t own)
{
	/* Memory that it gave back tells nothing of growth, but what it had gained before does. */
	if (t->max > t->start || t->n == 1) {
		t->since_ns = at_ns;
		t->full_ns = 0;
	}
	t->start_ns = t->max_ns = at_ns;
	t->start = t->max = own;
}

void trend_add(struct trend_state *t, int64_t at_ns, int64_t own, bool full)
{
	if (t->n++ == 0) {
		t->first_ns = at_ns;
		begin(t, at_ns, own);
	} else if ((double)own < (1 - DIP) * (double)t->max)
		begin(t, at_ns, own);
	else if (own > t->max + noise(t->max)) {
		/* The growth begins at the last sample that was as low as the first. */
		t->max = own;
		t->max_ns = at_ns;
		t->full_ns = 0;
	} else {
		t->full_ns += full ? at_ns - t->last_ns : 0;
		if (t->max == t->start) {
			t->start_ns = t->max_ns = at_ns;
			t->start = t->max = MIN(t->start, own);
		}
	}
	t->last_ns = at_ns;
}

void trend_result(const struct trend_state *t, struct trend *ret_trend)
{
	*ret_trend = (struct trend){ .grew_ns = t->max_ns - t->start_ns,
				     .from = t->start,
				     .to = t->max,
				     .flat_ns = t->last_ns - t->max_ns,
				     .full_ns = t->full_ns,
				     .seen_ns = t->last_ns - t->first_ns };
	/*
	 * Flat all the time: since the first sample, or since it gave back what it had gained, not
	 * since the last.
	 */
	if (t->max == t->start)
		ret_trend->flat_ns = t->last_ns - t->since_ns;
}

/* Whether nothing could grow then: no room was left, or processes waited for memory. */
static bool is_full(const struct memory *m)
{
	return at_limit_is_met(m) || at_limit_is_filled(m, m->high) || m->psi_some >= WAITED;
}

static void add_sample(const struct sample *s, void *arg)
{
	struct trend_state *t = arg;

	for (uint32_t i = 0; i < s->n_top; i++)
		if (s->top[i].pid == t->pid)
			trend_add(t, s->at_ns, s->top[i].rss - s->top[i].shared,
				  is_full(&s->memory));
}

void trend_of_process(const struct history *h, pid_t pid, struct trend *ret_trend)
{
	struct trend_state t = { .pid = pid };

	history_each(h, add_sample, &t);
	trend_result(&t, ret_trend);
}
