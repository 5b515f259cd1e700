/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of containers that memory.high slowed down. Sizes in MiB, times in seconds. */
#include "sidecar/verdict/memory_high.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"

#define MIB ((int64_t)1 << 20)
#define HIGH 800
#define NOBODYS (-1) /* a memory.high of a cgroup below, or one that cannot be read */
#define NO_HITS (-1)

/* So many seconds with one sample each. */
struct phase {
	int seconds, usage, file, hits_a_second, psi;
	int high; /* 0: HIGH */
};

static const struct {
	const char *what;
	struct phase phases[4]; /* a phase with seconds 0 ends the list */
	enum failure_class class;
	const char *sentence, *evidence; /* NULL: none */
} rows[] = {
	{ "a leak that is slowed down until a probe has it killed", { { 20, 500, 50, 0, 0, 0 }, { 41, 802, 40, 30, 9700, 0 } }, FAILURE_KILLED,
	  "It was killed; for 40.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 40.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 1230 times, and they waited for memory "
	  "up to 97 % of the time" },
	{ "a request to stop", { { 20, 500, 50, 0, 0, 0 }, { 41, 802, 40, 30, 9700, 0 } }, FAILURE_TERMINATED,
	  "It was killed; for 40.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 40.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 1230 times, and they waited for memory "
	  "up to 97 % of the time" },
	{ "an OOM kill in the end, which says enough", { { 20, 500, 50, 0, 0, 0 }, { 41, 802, 40, 30, 9700, 0 } }, FAILURE_KERNEL_OOM_CONTAINER, NULL,
	  "for 40.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 1230 times, and they waited for memory "
	  "up to 97 % of the time" },
	{ "without pressure stall information", { { 20, 500, 50, 0, -1, 0 }, { 41, 802, 40, 30, -1, 0 } }, FAILURE_KILLED,
	  "It was killed; for 40.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 40.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 1230 times" },
	{ "in a cgroup below", { { 20, 500, 50, 0, 0, NOBODYS }, { 21, 802, 40, 30, 9700, NOBODYS } }, FAILURE_KILLED,
	  "It was killed; for 20.0 s before, memory.high had slowed it down, so it may have hung.",
	  "for 20.0 s up to the last sample the kernel slowed processes down at memory.high, 630 times, and they waited for memory up to 97 % of the time" },
	{ "in a cgroup below, while the container's own is not exceeded", { { 20, 300, 50, 0, 0, 0 }, { 21, 500, 40, 30, 9700, 0 } }, FAILURE_KILLED,
	  "It was killed; for 20.0 s before, memory.high had slowed it down, so it may have hung.",
	  "for 20.0 s up to the last sample the kernel slowed processes down at memory.high, 630 times, and they waited for memory up to 97 % of the time" },
	{ "a process that sleeps for seconds between two hits", { { 20, 802, 40, 30, 9000, 0 }, { 7, 802, 40, 0, 9000, 0 }, { 10, 802, 40, 30, 9000, 0 } },
	  FAILURE_KILLED, "It was killed; for 35.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 35.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 870 times, and they waited for memory "
	  "up to 90 % of the time" },
	{ "a last sample right after the kill, which has freed the memory", { { 20, 500, 50, 0, 0, 0 }, { 20, 802, 40, 30, 9700, 0 }, { 1, 4, 2, 30, 9700, 0 } },
	  FAILURE_KILLED, "It was killed; for 20.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 20.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 630 times, and they waited for memory "
	  "up to 97 % of the time" },
	{ "on a busy machine, where processes wait for the processor as well",
	  { { 20, 500, 50, 0, 0, 0 }, { 10, 802, 40, 3, 1870, 0 }, { 8, 802, 40, 3, 600, 0 }, { 3, 802, 40, 3, 1200, 0 } }, FAILURE_KILLED,
	  "It was killed; for 20.0 s before, memory.high of 800.0 MiB had slowed it down, so it may have hung.",
	  "for 20.0 s up to the last sample the kernel slowed processes down at memory.high of 800.0 MiB, 63 times, and they waited for memory "
	  "up to 19 % of the time" },
	{ "a little waiting all the time", { { 20, 500, 50, 0, 0, 0 }, { 100, 802, 400, 300, 800, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "page cache, which is freed at once", { { 200, 802, 400, 500, 300, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "page cache, without pressure stall information", { { 200, 802, 400, 500, -1, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "processes that wait for memory for another reason", { { 200, 500, 40, 0, 9000, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "for a moment before the end", { { 100, 500, 50, 0, 0, 0 }, { 9, 802, 40, 30, 9000, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "long ago", { { 10, 500, 50, 0, 0, 0 }, { 60, 802, 40, 30, 9000, 0 }, { 60, 300, 40, 0, 0, 0 } }, FAILURE_KILLED, NULL, NULL },
	{ "cgroup v1, which has none", { { 200, 802, 40, NO_HITS, -1, NOBODYS } }, FAILURE_KILLED, NULL, NULL },
	{ "no samples", { { 0 } }, FAILURE_KILLED, NULL, NULL },
};

static struct memory memory_in(const struct phase *p, int64_t hits)
{
	struct memory m = MEMORY_ABSENT;

	m.limit = 1000 * MIB;
	m.high = p->high < 0 ? -1 : (p->high ? p->high : HIGH) * MIB;
	m.usage = p->usage * MIB;
	m.file = p->file * MIB;
	m.high_hits = p->hits_a_second == NO_HITS ? -1 : hits;
	m.psi_some = p->psi;
	return m;
}

static void play(struct history *h, const struct phase *phases, size_t n)
{
	int64_t at_ns = 1000 * NS_PER_SEC, hits = 7;

	for (const struct phase *p = phases; p < phases + n && p->seconds; p++)
		for (int i = 0; i < p->seconds; i++, at_ns += NS_PER_SEC) {
			struct sample s = { .at_ns = at_ns,
					    .memory = memory_in(p, hits += p->hits_a_second) };

			history_add(h, &s);
		}
}

static void check(const char *what, const char *found, const char *expected)
{
	if (strcmp(found, expected) != 0)
		fail_msg("%s: \"%s\"", what, found);
}

static void a_container_that_was_slowed_down_until_its_end_is_told_from_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct history *h = history_new();
		struct verdict v = { .class = rows[i].class, .sentence = "It was killed." };
		int64_t slowed_ns;

		play(h, rows[i].phases, ARRAY_SIZE(rows[i].phases));
		slowed_ns = memory_high_of_history(h, &v);
		check(rows[i].what, v.sentence,
		      rows[i].sentence ? rows[i].sentence : "It was killed.");
		check(rows[i].what, v.n_evidence ? v.evidence[0].text : "nothing",
		      rows[i].evidence ? rows[i].evidence : "nothing");
		assert_int_equal(slowed_ns > 0, rows[i].evidence != NULL);
		if (v.n_evidence)
			check(rows[i].what, v.evidence[0].source, EVIDENCE_MEMORY_HIGH);
		history_free(h);
	}
}

/* The kernel's counters of a cgroup that was made anew begin again. */
static void counters_that_fall_are_no_hits(void **state)
{
	struct memory_high h = { 0 };
	struct phase p = { .usage = 802, .file = 40, .psi = 9000 };
	(void)state;

	for (int i = 0; i < 100; i++) {
		struct memory m = memory_in(&p, 1000 - i);

		memory_high_add(&h, (i + 1) * NS_PER_SEC, &m);
	}
	assert_int_equal(memory_high_slowed_ns(&h), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_that_was_slowed_down_until_its_end_is_told_from_others),
		cmocka_unit_test(counters_that_fall_are_no_hits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
