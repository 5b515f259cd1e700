/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is kept of the runs of tasks and actors. */
#include "sidecar/sample/task_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static struct task_memory *task_memory_make(void)
{
	struct task_memory *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	return m;
}

/* A run that holds peak bytes, and then ends. */
static unsigned int run(struct task_memory *m, const char *name, int64_t peak)
{
	unsigned int place = task_memory_begin(m, name);

	task_memory_raise(m, place, 0, peak);
	task_memory_swept(m, 0);
	task_memory_end(m, place);
	return place;
}

static uint64_t runs_in_buckets(const struct task_need *need)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < TASK_BUCKETS; i++)
		sum += need->by_peak[i];
	return sum;
}

static void a_run_counts_in_the_bucket_of_its_own_peak(void **state)
{
	static const struct {
		int64_t peak, top; /* bytes of a run, and the end of its bucket */
	} rows[] = {
		{ 0, MIB },
		{ MIB, MIB },
		{ MIB + 1, 1246974 },
		{ 2 * MIB, 2 * MIB },
		{ 500 * MIB, 512 * MIB },
		{ 600 * MIB, 638450688 },
		{ 700 * GIB, 727 * GIB }, /* at least */
		{ INT64_MAX, 727 * GIB },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ struct task_memory *m = task_memory_make();
		const struct task_need *need = &m->list[run(m, "ray::f", rows[i].peak)];
		unsigned int bucket = 0;

		assert_int_equal(need->peak, rows[i].peak);
		assert_int_equal(runs_in_buckets(need), 1);
		while (!need->by_peak[bucket])
			bucket++;
		if (rows[i].top < 727 * GIB)
			assert_int_equal(task_bucket_top(bucket), rows[i].top);
		else
			assert_true(bucket == TASK_BUCKETS - 1 ||
				    task_bucket_top(bucket) >= rows[i].peak);
	}
}

static void buckets_are_at_most_a_fifth_wide_and_grow_without_end(void **state)
{
	(void)state;
	for (unsigned int i = 1; i < TASK_BUCKETS; i++) {
		assert_true(task_bucket_top(i) > task_bucket_top(i - 1));
		assert_true((double)task_bucket_top(i) < 1.19 * (double)task_bucket_top(i - 1) + 1);
	}
}

static void runs_at_once_are_those_that_one_sweep_has_seen(void **state)
{
	_cleanup_free_ struct task_memory *m = task_memory_make();
	unsigned int place = task_memory_begin(m, "ray::f");
	(void)state;

	task_memory_begin(m, "ray::f");
	task_memory_swept(m, 3);
	task_memory_end(m, place);
	task_memory_begin(m, "ray::f");
	task_memory_swept(m, 2);
	assert_int_equal(m->list[place].runs, 3);
	assert_int_equal(m->list[place].running, 2);
	assert_int_equal(m->list[place].at_once, 2);
	assert_int_equal(m->beside, 3);
}

/* A container can set any title: what needs much stays, and no run is lost. */
static void ten_thousand_names_leave_the_large_ones_in_place(void **state)
{
	_cleanup_free_ struct task_memory *m = task_memory_make();
	unsigned int large = run(m, "ray::large", 40 * MIB),
		     alive = task_memory_begin(m, "ray::alive");
	uint64_t runs = 0;
	char name[PROCESS_NAME_MAX];
	(void)state;

	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "ray::name%d", i);
		run(m, name, MIB);
	}
	assert_int_equal(m->n, TASK_NAMES_MAX);
	assert_string_equal(m->list[large].name, "ray::large");
	assert_string_equal(m->list[alive].name, "ray::alive");
	for (unsigned int i = 0; i <= TASK_OTHERS; i++) {
		runs += m->list[i].runs;
		assert_int_equal(runs_in_buckets(&m->list[i]), m->list[i].runs);
	}
	assert_int_equal(runs, 10002);
	assert_int_equal(m->list[TASK_OTHERS].peak, MIB);
}

static void if_all_names_run_a_new_one_is_one_of_the_others(void **state)
{
	_cleanup_free_ struct task_memory *m = task_memory_make();
	char name[PROCESS_NAME_MAX];
	(void)state;

	for (int i = 0; i < TASK_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "ray::name%d", i);
		task_memory_begin(m, name);
	}
	assert_int_equal(run(m, "ray::new", 5 * MIB), TASK_OTHERS);
	assert_int_equal(m->list[TASK_OTHERS].runs, 1);
	assert_int_equal(m->list[TASK_OTHERS].running, 0);
	assert_false(m->list[TASK_OTHERS].labelled);
}

/*
 * Each label is a series of its own in Prometheus, so a container has few, and they do not change.
 */
static void few_names_get_a_label_and_keep_it(void **state)
{
	_cleanup_free_ struct task_memory *m = task_memory_make();
	uint32_t labelled = 0;
	char name[PROCESS_NAME_MAX];
	(void)state;

	assert_false(m->list[run(m, "ray::small", TASK_LABEL_FROM - 1)].labelled);
	assert_true(m->list[run(m, "ray::small", TASK_LABEL_FROM)].labelled);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "ray::name%d", i);
		run(m, name, GIB + i);
	}
	for (unsigned int i = 0; i <= TASK_OTHERS; i++)
		labelled += m->list[i].labelled;
	assert_int_equal(labelled, TASK_LABELS_MAX);
	assert_string_equal(m->list[0].name, "ray::small");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_counts_in_the_bucket_of_its_own_peak),
		cmocka_unit_test(buckets_are_at_most_a_fifth_wide_and_grow_without_end),
		cmocka_unit_test(runs_at_once_are_those_that_one_sweep_has_seen),
		cmocka_unit_test(ten_thousand_names_leave_the_large_ones_in_place),
		cmocka_unit_test(if_all_names_run_a_new_one_is_one_of_the_others),
		cmocka_unit_test(few_names_get_a_label_and_keep_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
