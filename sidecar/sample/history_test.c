/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the history: what it keeps, and in which order. */
#include "sidecar/sample/history.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

struct walk {
	int64_t last_ns, widest_ns;
	size_t n, out_of_order;
	int64_t first_ns;
};

static void note(const struct sample *s, void *arg)
{
	struct walk *w = arg;

	if (!w->n++)
		w->first_ns = s->at_ns;
	else {
		w->out_of_order += s->at_ns <= w->last_ns;
		if (s->at_ns - w->last_ns > w->widest_ns)
			w->widest_ns = s->at_ns - w->last_ns;
	}
	w->last_ns = s->at_ns;
}

static struct walk fill(struct history *h, int n, int64_t spacing_ns)
{
	struct walk w = { 0 };

	for (int i = 1; i <= n; i++)
		history_add(h, &(struct sample){ .at_ns = i * spacing_ns });
	history_each(h, note, &w);
	return w;
}

static void an_empty_history_has_no_last_sample(void **state)
{
	struct history *h = history_new();
	struct walk w = { 0 };
	(void)state;

	assert_non_null(h);
	assert_null(history_last(h));
	history_each(h, note, &w);
	assert_int_equal(w.n, 0);
	history_free(h);
	history_free(NULL);
}

static void a_short_life_is_kept_whole(void **state)
{
	struct history *h = history_new();
	struct walk w = fill(h, 128, 20 * NS_PER_MS);
	(void)state;

	assert_int_equal(w.n, 128);
	assert_int_equal(w.out_of_order, 0);
	assert_int_equal(w.first_ns, 20 * NS_PER_MS);
	assert_int_equal(history_last(h)->at_ns, 128 * 20 * NS_PER_MS);
	history_free(h);
}

static void of_fast_samples_the_old_ones_are_thinned_to_one_a_second(void **state)
{
	struct history *h = history_new();
	struct walk w = fill(h, 5000, 20 * NS_PER_MS); /* 100 s */
	(void)state;

	assert_int_equal(w.out_of_order, 0);
	assert_int_equal(w.first_ns, 20 * NS_PER_MS);
	assert_int_equal(w.widest_ns, NS_PER_SEC);
	assert_int_equal(w.n, 128 + 98);
	assert_int_equal(w.last_ns, 5000 * 20 * NS_PER_MS);
	history_free(h);
}

static void a_long_life_is_forgotten_from_its_beginning(void **state)
{
	struct history *h = history_new();
	struct walk w = fill(h, 10000, NS_PER_SEC);
	(void)state;

	assert_int_equal(w.n, 128 + 300);
	assert_int_equal(w.out_of_order, 0);
	assert_int_equal(w.widest_ns, NS_PER_SEC);
	assert_int_equal(w.first_ns, (10000 - 427) * NS_PER_SEC);
	assert_int_equal(history_last(h)->at_ns, 10000 * NS_PER_SEC);
	history_free(h);
}

/* Opens a directory for the test. */
static int scratch(char path[static 64])
{
	snprintf(path, 64, "/tmp/history_test.XXXXXX");
	assert_non_null(mkdtemp(path));
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static const struct life a_life = {
	.name = "ray-worker", .boot_id = "b", .started_ns = 7, .phase = LIFE_RUNS
};

static void what_one_sidecar_saw_the_next_one_knows(void **state)
{
	char directory[64];
	int fd = scratch(directory);
	struct life l = a_life;
	struct walk w = { 0 };
	struct history *h;
	(void)state;

	h = history_create(fd, "x", &l, NULL);
	assert_non_null(h);
	assert_null(history_create(fd, "x", &l, NULL));
	fill(h, 5000, 20 * NS_PER_MS);
	l.baseline.oom_kill = 3;
	history_set_life(h, &l);
	history_free(h);
	h = history_open(fd, "x", NULL);
	assert_non_null(h);
	assert_memory_equal(history_life(h), &l, sizeof(l));
	history_each(h, note, &w);
	assert_int_equal(w.n, 128 + 98);
	assert_int_equal(w.out_of_order, 0);
	history_free(h);
	unlinkat(fd, "x", 0);
	close(fd);
	rmdir(directory);
}

static void a_history_that_says_nonsense_is_not_believed(void **state)
{
	char directory[64];
	int fd = scratch(directory);
	(void)state;

	for (int kind = 0; kind < 7; kind++) {
		struct sample bad = { .at_ns = NS_PER_SEC, .n_top = SAMPLE_TOP };
		struct life l = a_life;
		struct history *h;
		struct walk w = { 0 };

		if (kind == 0)
			l.phase = 9;
		if (kind == 1)
			l.started_ns = -1;
		if (kind == 2)
			memset(l.name, 'x', sizeof(l.name));
		if (kind == 3)
			memset(l.bundle, 'x', sizeof(l.bundle));
		if (kind == 4)
			bad.n_top = 0xffffffff;
		if (kind == 5)
			memset(bad.top[SAMPLE_TOP - 1].name, 'x', sizeof(bad.top[0].name));
		if (kind == 6)
			bad.at_ns = -5;
		h = history_create(fd, "x", &l, NULL);
		history_add(h, &bad);
		history_free(h);
		h = history_open(fd, "x", NULL);
		if (kind < 4)
			assert_null(h);
		else {
			history_each(h, note, &w);
			assert_int_equal(w.n, 0);
			assert_null(history_last(h));
		}
		history_free(h);
		unlinkat(fd, "x", 0);
	}
	close(fd);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_history_has_no_last_sample),
		cmocka_unit_test(a_short_life_is_kept_whole),
		cmocka_unit_test(of_fast_samples_the_old_ones_are_thinned_to_one_a_second),
		cmocka_unit_test(a_long_life_is_forgotten_from_its_beginning),
		cmocka_unit_test(what_one_sidecar_saw_the_next_one_knows),
		cmocka_unit_test(a_history_that_says_nonsense_is_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
