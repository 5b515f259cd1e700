/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/watch/worker_watch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/sample/memcg_testing.h"

#define COMMAND 9

static struct fake_root root;
static struct process_table *table;
static struct worker_watch w;
static int64_t now_ns;
static pid_t ordered[2 * WORKER_WATCH_MAX];
static size_t n_ordered;

static void begin(pid_t pid, const char *name)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0\n",
		 (int)pid, name, 1000 + (int)pid);
	fake_root_put(&root, path, text);
	snprintf(path, sizeof(path), "proc/%d/statm", (int)pid);
	fake_root_put(&root, path, "999 99 9 1 0 1 0\n");
}

static void end(pid_t pid)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s/proc/%d", root.path, (int)pid);
	assert_int_equal(system(command), 0);
}

static void on_order(pid_t pid, unsigned long long start, void *arg)
{
	(void)arg;
	assert_int_equal(start, 1000 + pid);
	ordered[n_ordered++] = pid;
}

static void look(void)
{
	now_ns += NS_PER_SEC;
	assert_int_equal(process_table_sweep(table, now_ns, NULL), 0);
	worker_watch_look(&w, root.fd, table, COMMAND, now_ns, on_order, NULL);
}

static int setup(void **state)
{
	(void)state;
	fake_root_init(&root);
	begin(1, "afterglow-launch");
	table = process_table_new(root.fd, 1, NULL);
	w = (struct worker_watch){ .n = 0 };
	now_ns = NS_PER_SEC;
	n_ordered = 0;
	return table ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	return fake_root_release(&root);
}

static void workers_and_programs_are_watched_but_not_what_others_watch(void **state)
{
	(void)state;
	begin(COMMAND, "bash");
	begin(10, "raylet");
	begin(11, "ray::IDLE");
	begin(12, "ray::leak");
	begin(13, "ray::DashboardA");
	begin(14, "torchrun");
	begin(15, "afterglow-launc");
	look();
	look();
	assert_int_equal(n_ordered, 3);
	assert_int_equal(ordered[0], 11);
	assert_int_equal(ordered[1], 12);
	assert_int_equal(ordered[2], 14);
}

static void of_other_programs_ends_by_a_telling_signal_are_kept(void **state)
{
	(void)state;
	begin(14, "torchrun");
	begin(15, "rank0");
	begin(16, "rank1");
	look();
	worker_watch_ended(&w, 14, true, 1 << 8, now_ns);
	worker_watch_ended(&w, 15, true, SIGTERM, now_ns);
	assert_null(worker_watch_end_of(&w, 14, now_ns));
	assert_null(worker_watch_end_of(&w, 15, now_ns));
	worker_watch_ended(&w, 16, true, SIGSEGV, now_ns);
	assert_string_equal(worker_watch_end_of(&w, 16, now_ns)->name, "rank1");
	assert_false(worker_watch_end_of(&w, 16, now_ns)->worker);
}

/* Of such ends there may be very many, so they take no place of others. */
static void of_ends_that_could_not_be_read_the_latest_is_kept_apart(void **state)
{
	(void)state;
	begin(14, "torchrun");
	begin(15, "rank0");
	look();
	worker_watch_ended(&w, 14, false, 0, now_ns);
	worker_watch_ended(&w, 15, false, 0, now_ns);
	assert_null(worker_watch_end_of(&w, 15, now_ns));
	assert_int_equal(w.n_ends, 0);
	assert_int_equal(w.unread.pid, 15);
	assert_string_equal(w.unread.name, "rank0");
}

static void programs_that_fork_all_the_time_leave_places_to_workers(void **state)
{
	(void)state;
	for (pid_t pid = 100; pid < 200; pid++)
		begin(pid, "sh");
	begin(200, "ray::f");
	look();
	assert_int_equal(n_ordered, OTHERS_MAX + 1);
	/* Their places are free again only when they have been gone for two seconds. */
	worker_watch_ended(&w, 100, true, 0, now_ns);
	look();
	assert_int_equal(n_ordered, OTHERS_MAX + 1);
	end(100);
	for (int i = 0; i < 4; i++)
		look();
	assert_int_equal(n_ordered, OTHERS_MAX + 2);
}

static void the_end_of_a_worker_is_found_near_its_time_by_its_pid(void **state)
{
	const struct watched_end *e;

	(void)state;
	begin(11, "ray::IDLE");
	look();
	worker_watch_ended(&w, 11, true, 42 << 8, 100 * NS_PER_SEC);
	worker_watch_ended(&w, 11, false, 9, 130 * NS_PER_SEC); /* the PID was used again */
	assert_int_equal(w.n, 0);
	e = worker_watch_end_of(&w, 11, 102 * NS_PER_SEC);
	assert_true(e && e->status_known);
	assert_int_equal(e->wait_status, 42 << 8);
	e = worker_watch_end_of(&w, 11, 131 * NS_PER_SEC);
	assert_true(e && !e->status_known && e->wait_status == 0);
	assert_null(worker_watch_end_of(&w, 11, 191 * NS_PER_SEC));
	assert_null(worker_watch_end_of(&w, 12, 100 * NS_PER_SEC));
	assert_null(worker_watch_end_of(&w, 0, 0));
}

static void places_of_workers_that_are_gone_are_free_again(void **state)
{
	(void)state;
	for (pid_t pid = 100; pid < 100 + WORKER_WATCH_MAX; pid++)
		begin(pid, "ray::f");
	look();
	assert_int_equal(w.n, WORKER_WATCH_MAX);
	begin(500, "ray::g");
	look();
	assert_int_equal(n_ordered, WORKER_WATCH_MAX);
	end(100);
	for (int i = 0; i < 4; i++)
		look();
	assert_int_equal(ordered[n_ordered - 1], 500);
	/* Whether it is watched or not, nobody asks for it again. */
	look();
	assert_int_equal(n_ordered, WORKER_WATCH_MAX + 1);
	for (size_t i = 0; i < 2 * WORKER_ENDS_MAX; i++)
		worker_watch_ended(&w, (pid_t)(100 + i), true, 9, now_ns);
	assert_null(worker_watch_end_of(&w, 100, now_ns));
	assert_non_null(worker_watch_end_of(&w, 100 + 2 * WORKER_ENDS_MAX - 1, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			workers_and_programs_are_watched_but_not_what_others_watch, setup,
			teardown),
		cmocka_unit_test_setup_teardown(of_ends_that_could_not_be_read_the_latest_is_kept_apart,
						setup, teardown),
		cmocka_unit_test_setup_teardown(of_other_programs_ends_by_a_telling_signal_are_kept,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			programs_that_fork_all_the_time_leave_places_to_workers, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_end_of_a_worker_is_found_near_its_time_by_its_pid, setup, teardown),
		cmocka_unit_test_setup_teardown(places_of_workers_that_are_gone_are_free_again,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("worker_watch", tests, NULL, NULL);
}
