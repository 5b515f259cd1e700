/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a container was at its memory limit for long. */
#include "sidecar/verdict/at_limit.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/units.h"

#define AT 0.97 /* part of the bound; the kernel reclaims some pages at a time */
/*
 * The part of the bound that processes hold at least. The rest is page cache, which includes the
 * code of the programs. A larger cache fills any limit and does no harm.
 */
#define HELD 0.85
/* a longer time below the limit, or without samples, ends the time at the limit */
#define DIP_NS (3 * NS_PER_SEC)
#define LONG_NS (30 * NS_PER_SEC)
/* 10 %, in hundredths: processes wait for memory now and then on any busy machine */
#define WAITED 1000

bool at_limit_is_filled(const struct memory *m, int64_t bound)
{
	return bound > 0 && m->file >= 0 && (double)m->usage >= AT * (double)bound &&
	       (double)(m->usage - m->file) >= HELD * (double)bound;
}

bool at_limit_is_met(const struct memory *m)
{
	return at_limit_is_filled(m, m->limit);
}

void at_limit_add(struct at_limit *a, int64_t at_ns, const struct memory *m)
{
	if (!a->first_ns)
		a->first_ns = at_ns;
	a->last_ns = at_ns;
	if (!at_limit_is_met(m))
		return;
	if (!a->since_ns || at_ns - a->until_ns > DIP_NS || m->limit != a->limit) {
		a->since_ns = at_ns;
		a->limit = m->limit;
		a->hits_before = m->limit_hits;
		a->psi_some = -1;
	}
	a->until_ns = at_ns;
	a->hits = m->limit_hits;
	a->psi_some = MAX(a->psi_some, m->psi_some);
}

void at_limit_evidence(const struct at_limit *a, struct verdict *v)
{
	bool met = a->hits_before >= 0 && a->hits > a->hits_before, waited = a->psi_some >= WAITED;
	char met_text[48] = "", waited_text[64] = "";

	if (!a->since_ns || a->until_ns - a->since_ns < LONG_NS ||
	    a->last_ns - a->until_ns > DIP_NS || (!met && !waited))
		return;
	if (met)
		snprintf(met_text, sizeof(met_text), ", met it %" PRId64 " times",
			 a->hits - a->hits_before);
	if (waited)
		snprintf(waited_text, sizeof(waited_text),
			 ", and processes waited for memory up to %.0f %% of the time",
			 (double)a->psi_some / 100);
	verdict_add_evidence(v, "samples",
			     "memory stood at its limit of %s for %s%s, up to the last sample%s%s",
			     SIZE_TEXT(a->limit), DURATION_TEXT(a->until_ns - a->since_ns),
			     a->since_ns == a->first_ns ? " or longer" : "", met_text, waited_text);
}

static void add_sample(const struct sample *s, void *arg)
{
	at_limit_add(arg, s->at_ns, &s->memory);
}

void at_limit_of_history(const struct history *h, struct verdict *v)
{
	struct at_limit a = { 0 };

	history_each(h, add_sample, &a);
	at_limit_evidence(&a, v);
}
