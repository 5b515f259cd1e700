/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether memory.high slowed a container down until its end. */
#include "sidecar/verdict/memory_high.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/units.h"
#include "sidecar/verdict/at_limit.h"

/*
 * A longer time without a hit, or without samples, ends the period. A process that is slowed down
 * sleeps for up to 2 s, and on a busy machine it then waits for the processor before it asks for
 * memory again.
 */
#define DIP_NS (8 * NS_PER_SEC)
/*
 * A shorter period does no harm, and the kernel's avg10 needs this long to show how much processes
 * waited.
 */
#define LONG_NS (10 * NS_PER_SEC)
/*
 * 10 %, in hundredths, at least once, and half of it all the time. Page cache meets memory.high all
 * the time, and is freed at once: the processes hardly wait for that. On a busy machine they wait
 * for the processor most of the time, however much they wait for memory.
 */
#define WAITED 1000
/* Part of memory.high. With less usage, it was a cgroup below that exceeded its own memory.high. */
#define AT 0.97

/*
 * Where the kernel does not measure pressure, memory that cannot be freed at once is what makes
 * processes wait.
 */
static bool have_waited(const struct memory *m)
{
	return m->psi_some >= 0 ? m->psi_some >= WAITED / 2 : at_limit_is_filled(m, m->high);
}

void memory_high_add(struct memory_high *h, int64_t at_ns, const struct memory *m)
{
	int64_t hits_before = h->last_ns ? h->hits_last : -1;
	bool was_hit = hits_before >= 0 && m->high_hits > hits_before;

	h->last_ns = at_ns;
	h->hits_last = m->high_hits;
	if (!was_hit || !have_waited(m))
		return;
	if (!h->since_ns || at_ns - h->until_ns > DIP_NS) {
		h->since_ns = at_ns;
		h->hits_before = hits_before;
		h->psi_some = h->high = -1;
	}
	h->until_ns = at_ns;
	/* The last sample may show the counts while the memory was freed already. */
	if (m->high > 0 && (double)m->usage >= AT * (double)m->high)
		h->high = m->high;
	h->hits = m->high_hits;
	h->psi_some = MAX(h->psi_some, m->psi_some);
}

int64_t memory_high_slowed_ns(const struct memory_high *h)
{
	int64_t slowed_ns = h->until_ns - h->since_ns;
	bool waited = h->psi_some < 0 || h->psi_some >= WAITED;

	if (!h->since_ns || !waited || slowed_ns < LONG_NS || h->last_ns - h->until_ns > DIP_NS)
		return 0;
	return slowed_ns;
}

void memory_high_evidence(const struct memory_high *h, struct verdict *v)
{
	int64_t slowed_ns = memory_high_slowed_ns(h);
	char took[DURATION_TEXT_MAX];
	char of[SIZE_TEXT_MAX + 4] = "", waited[64] = "";

	if (!slowed_ns)
		return;
	duration_format(slowed_ns, took);
	if (h->high > 0)
		snprintf(of, sizeof(of), " of %s", SIZE_TEXT(h->high));
	if (h->psi_some >= 0)
		snprintf(waited, sizeof(waited),
			 ", and they waited for memory up to %.0f %% of the time",
			 (double)h->psi_some / 100);
	verdict_add_evidence(
		v, EVIDENCE_MEMORY_HIGH,
		"for %s up to the last sample the kernel slowed processes down at memory.high%s, %" PRId64
		" times%s",
		took, of, h->hits - h->hits_before, waited);
	/* Another process ended the container, and may have done so because the container hung. */
	if (v->class == FAILURE_KILLED || v->class == FAILURE_TERMINATED)
		verdict_continue(
			v,
			"; for %s before, memory.high%s had slowed it down, so it may have hung.",
			took, of);
}

static void add_sample(const struct sample *s, void *arg)
{
	memory_high_add(arg, s->at_ns, &s->memory);
}

int64_t memory_high_of_history(const struct history *h, struct verdict *v)
{
	struct memory_high slowed = { 0 };

	history_each(h, add_sample, &slowed);
	memory_high_evidence(&slowed, v);
	return memory_high_slowed_ns(&slowed);
}
