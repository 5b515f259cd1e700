/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the diagnosis: the numbers decide, and without them it is silent. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/report/report.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static const struct {
	const char *what;
	enum failure_class class;
	int64_t limit, usage, shmem;
	struct {
		const char *name;
		int64_t rss, shared, growth;
	} top[5];
	const char *diagnosis, *advice; /* parts; NULL: nothing may be said */
} rows[] = {
	{ "one task that grew", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, -1,
	  { { "ray::leak", 3700 * MIB, 100 * MIB, 800 * MIB }, { "raylet", 60 * MIB, 20 * MIB, 0 } },
	  "One process, ray::leak, held 88 % of the memory and grew by 800.0 MiB/s", "find what leak keeps" },
	{ "one task of unknown growth", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0,
	  { { "ray::leak", 3 * GIB, 0, GROWTH_UNKNOWN } }, "held 75 % of the memory: a leak", "@ray.remote(memory=3.2e+09), and a limit of 5.0 GiB" },
	{ "one process that is no task", FAILURE_KERNEL_OOM_PROCESS, 4 * GIB, 4 * GIB, 0,
	  { { "python3 train.py", 3 * GIB, 0, -5 } }, "python3 train.py, held 75 %", "find what python3 train.py keeps" },
	{ "an idle worker is no task", FAILURE_KERNEL_OOM_CONTAINER, GIB, GIB, 0, { { "ray::IDLE", GIB, 0, 5 } },
	  "ray::IDLE, held 100 %", "find what ray::IDLE keeps" },
	{ "one process, no limit of its own", FAILURE_KERNEL_OOM_NODE, -1, 4 * GIB, 0, { { "ray::leak", 3 * GIB, 0, 0 } },
	  "One process", NULL },
	{ "many alike", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0,
	  { { "ray::load", GIB, 0, 0 }, { "ray::load", GIB, 0, 0 }, { "ray::load", GIB, 0, 0 }, { "raylet", 0, 0, 0 } },
	  "3 copies of ray::load held 3.0 GiB together, up to 1.0 GiB each", "num_cpus for load" },
	{ "many alike that are no tasks", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0,
	  { { "python3", GIB, 0, 0 }, { "python3", GIB, 0, 0 }, { "python3", GIB, 0, 0 } }, "3 copies of python3", NULL },
	{ "two alike are neither", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0,
	  { { "ray::load", GIB, 0, 0 }, { "ray::load", GIB, 0, 0 } }, NULL, NULL },
	{ "the object store", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 3 * GIB, { { "ray::x", 3 * GIB, 3 * GIB, 0 } },
	  "Shared memory (the object store in /dev/shm) held 3.0 GiB, 75 %", NULL },
	{ "spread over many", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0,
	  { { "a", GIB, 0, 0 }, { "b", GIB, 0, 0 }, { "c", GIB, 0, 0 } }, NULL, NULL },
	{ "no processes were seen", FAILURE_KERNEL_OOM_CONTAINER, 4 * GIB, 4 * GIB, 0, { { NULL, 0, 0, 0 } }, NULL, NULL },
	{ "no sample", FAILURE_KERNEL_OOM_CONTAINER, -1, -1, -1, { { "ray::leak", GIB, 0, 0 } }, NULL, NULL },
	{ "a segfault with full memory", FAILURE_SEGFAULT, GIB, GIB, 0, { { "ray::leak", GIB, 0, 5 } }, NULL, NULL },
	{ "kill -9 with full memory", FAILURE_KILLED, GIB, GIB, 0, { { "ray::leak", GIB, 0, 5 } }, NULL, NULL },
	{ "an exit code", FAILURE_APPLICATION_ERROR, GIB, GIB, GIB, { { "ray::leak", GIB, 0, 5 } }, NULL, NULL },
	{ "more than the cgroup's usage", FAILURE_KERNEL_OOM_CONTAINER, GIB, GIB, 0, { { "ray::x", 3 * GIB, 0, 0 } },
	  "held 100 % of the memory", "find" },
};

static struct report report_of(size_t i)
{
	struct report r = { .verdict.class = rows[i].class, .memory = MEMORY_ABSENT };

	r.memory.limit = rows[i].limit;
	r.memory.usage = rows[i].usage;
	r.memory.shmem = rows[i].shmem;
	for (; r.n_top < ARRAY_SIZE(rows[i].top) && rows[i].top[r.n_top].name; r.n_top++) {
		struct process *p = &r.top[r.n_top];

		snprintf(p->name, sizeof(p->name), "%s", rows[i].top[r.n_top].name);
		p->rss = rows[i].top[r.n_top].rss;
		p->shared = rows[i].top[r.n_top].shared;
		p->growth = rows[i].top[r.n_top].growth;
	}
	return r;
}

static bool says(const char *text, const char *part)
{
	return part ? strstr(text, part) != NULL : !*text;
}

static void the_numbers_decide_what_is_said(void **state)
{
	unsigned int wrong = 0;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report r = report_of(i);

		report_diagnose(&r);
		if (says(r.diagnosis, rows[i].diagnosis) && says(r.advice, rows[i].advice))
			continue;
		print_error("%s: \"%s\" / \"%s\"\n", rows[i].what, r.diagnosis, r.advice);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void an_earlier_diagnosis_does_not_stay(void **state)
{
	struct report r = report_of(0);
	(void)state;

	report_diagnose(&r);
	assert_true(r.diagnosis[0]);
	r.verdict.class = FAILURE_SEGFAULT;
	report_diagnose(&r);
	assert_string_equal(r.diagnosis, "");
	assert_string_equal(r.advice, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_decide_what_is_said),
		cmocka_unit_test(an_earlier_diagnosis_does_not_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
