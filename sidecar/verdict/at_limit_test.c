/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of containers that were at their limit. Sizes in MiB, times in seconds. */
#include "sidecar/verdict/at_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

#define MIB ((int64_t)1 << 20)
#define LIMIT 1000

/* So many seconds with one sample each. */
struct phase {
	int seconds, usage, file, hits_a_second, psi;
	int limit; /* 0: LIMIT */
};

static const struct {
	const char *what;
	struct phase phases[4]; /* a phase with seconds 0 ends the list */
	const char *evidence; /* NULL: none */
} rows[] = {
	{ "reclaim for minutes", { { 20, 500, 50, 0, 0, 0 }, { 200, 995, 40, 17, 6300, 0 } },
	  "memory stood at its limit of 1000.0 MiB for 3 min 19 s, up to the last sample, met it 3383 times, and processes waited for memory up to 63 % of the time" },
	{ "without pressure stall information", { { 60, 995, 40, 2, -1, 0 } },
	  "memory stood at its limit of 1000.0 MiB for 59.0 s or longer, up to the last sample, met it 118 times" },
	{ "without counts of the limit (v1), and with pressure", { { 60, 995, 40, 0, 2000, 0 } },
	  "memory stood at its limit of 1000.0 MiB for 59.0 s or longer, up to the last sample, and processes waited for memory up to 20 % of the time" },
	{ "a short dip, as reclaim makes them", { { 20, 995, 40, 5, 0, 0 }, { 2, 900, 20, 0, 0, 0 }, { 20, 995, 40, 5, 0, 0 } },
	  "memory stood at its limit of 1000.0 MiB for 41.0 s or longer, up to the last sample, met it 195 times" },
	{ "at the limit because of page cache, which is normal", { { 200, 999, 400, 20, 0, 0 } }, NULL },
	{ "nearly full and at peace", { { 200, 985, 40, 0, 0, 0 } }, NULL },
	{ "a little waiting", { { 200, 985, 40, 0, 900, 0 } }, NULL },
	{ "for a moment before the end", { { 200, 500, 50, 0, 0, 0 }, { 10, 995, 40, 20, 5000, 0 } }, NULL },
	{ "long ago", { { 100, 995, 40, 20, 5000, 0 }, { 60, 300, 40, 0, 0, 0 } }, NULL },
	{ "twice, and the second time for a moment", { { 100, 995, 40, 20, 5000, 0 }, { 60, 300, 40, 0, 0, 0 }, { 5, 995, 40, 9, 0, 0 } }, NULL },
	{ "under a limit that was raised meanwhile", { { 100, 995, 40, 20, 5000, 0 }, { 10, 1990, 40, 20, 5000, 2000 } }, NULL },
	{ "no limit", { { 100, 995, 40, 20, 5000, -1 } }, NULL },
	{ "no samples", { { 0 } }, NULL },
};

static void play(struct at_limit *a, const struct phase *phases, size_t n)
{
	int64_t at_ns = 1000 * NS_PER_SEC, hits = 7;

	for (const struct phase *p = phases; p < phases + n && p->seconds; p++)
		for (int i = 0; i < p->seconds; i++, at_ns += NS_PER_SEC) {
			struct memory m = MEMORY_ABSENT;

			m.limit = p->limit < 0 ? -1 : (p->limit ? p->limit : LIMIT) * MIB;
			m.usage = p->usage * MIB;
			m.file = p->file * MIB;
			m.limit_hits = hits += p->hits_a_second;
			m.psi_some = p->psi;
			at_limit_add(a, at_ns, &m);
		}
}

static void a_long_stand_at_the_limit_until_the_end_is_evidence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct at_limit a = { 0 };
		struct verdict v = { .n_evidence = 0 };
		const char *found;

		play(&a, rows[i].phases, ARRAY_SIZE(rows[i].phases));
		at_limit_evidence(&a, &v);
		found = v.n_evidence ? v.evidence[0].text : "nothing";
		if (strcmp(found, rows[i].evidence ? rows[i].evidence : "nothing") != 0)
			fail_msg("%s: \"%s\"", rows[i].what, found);
	}
}

static void what_is_not_known_is_no_evidence(void **state)
{
	struct at_limit a = { 0 };
	struct verdict v = { .n_evidence = 0 };
	struct memory m = MEMORY_ABSENT;
	(void)state;

	for (int i = 0; i < 100; i++) {
		m.limit = LIMIT * MIB;
		m.usage = i % 2 ? -1 : LIMIT * MIB;
		at_limit_add(&a, (i + 1) * NS_PER_SEC, &m);
	}
	at_limit_evidence(&a, &v);
	assert_int_equal(v.n_evidence, 0);
}

static void a_history_is_read_from_its_oldest_sample_on(void **state)
{
	struct history *h = history_new();
	struct verdict v = { .n_evidence = 0 };
	(void)state;

	for (int i = 0; i < 100; i++) {
		struct sample s = { .at_ns = (i + 1) * NS_PER_SEC, .memory = MEMORY_ABSENT };

		s.memory.limit = s.memory.usage = LIMIT * MIB;
		s.memory.file = 0;
		s.memory.limit_hits = i;
		history_add(h, &s);
	}
	at_limit_of_history(h, &v);
	assert_int_equal(v.n_evidence, 1);
	history_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_stand_at_the_limit_until_the_end_is_evidence),
		cmocka_unit_test(what_is_not_known_is_no_evidence),
		cmocka_unit_test(a_history_is_read_from_its_oldest_sample_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
