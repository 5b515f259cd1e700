/* SPDX-License-Identifier: Apache-2.0 */
/* Tests on a /proc made of files. Processes come and go, and the launcher reports some of them. */
#include "sidecar/watch/process_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/units.h"

#define RAY "/usr/lib/python3/ray/"
#define RAYLET RAY "core/src/ray/raylet/raylet --raylet_socket_name=x"
#define START "/usr/bin/python3 /usr/local/bin/ray start --head --block"

static char directory[64];
static int root_fd;
static struct process_table *table;
static struct process_watch w;
static int64_t now_ns;
static struct {
	pid_t pid;
	unsigned long long start;
} orders[64];
static size_t n_orders;
static int pages;

static void write_file(const char *path, const char *text, size_t len)
{
	int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_return_code(fd, errno);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

/* Blanks in the command line stand for NULs. */
static void begin(pid_t pid, pid_t parent, const char *cmdline)
{
	char path[64], text[256];
	size_t len = strlen(cmdline) + 1;

	snprintf(path, sizeof(path), "proc/%d", (int)pid);
	mkdirat(root_fd, path, 0755);
	snprintf(path, sizeof(path), "proc/%d/stat", (int)pid);
	snprintf(text, sizeof(text),
		 "%d (x) S %d 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 %d 99 5", (int)pid,
		 (int)parent, 1000 + (int)pid);
	write_file(path, text, strlen(text));
	snprintf(path, sizeof(path), "proc/%d/statm", (int)pid);
	/* Names are read again when the memory has changed. */
	pages += 1000;
	snprintf(text, sizeof(text), "9000000 %d 50 1 0 1 0", pages);
	write_file(path, text, strlen(text));
	snprintf(path, sizeof(path), "proc/%d/cmdline", (int)pid);
	memcpy(text, cmdline, len);
	for (size_t i = 0; i < len; i++)
		if (text[i] == ' ')
			text[i] = '\0';
	write_file(path, text, len);
}

static void end(pid_t pid)
{
	static const char *const files[] = { "stat", "statm", "cmdline" };
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, files[i]);
		unlinkat(root_fd, path, 0);
	}
	snprintf(path, sizeof(path), "proc/%d", (int)pid);
	unlinkat(root_fd, path, AT_REMOVEDIR);
}

static void order(pid_t pid, unsigned long long start, void *arg)
{
	(void)arg;
	orders[n_orders].pid = pid;
	orders[n_orders++].start = start;
}

static void look(void)
{
	struct components components;

	now_ns += NS_PER_SEC;
	assert_int_equal(process_table_sweep(table, now_ns, NULL), 0);
	process_table_refresh_names(table, now_ns);
	process_table_components(table, &components);
	process_watch_look(&w, root_fd, table, now_ns, order, NULL);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/process_watch_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	root_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdirat(root_fd, "proc", 0755);
	begin(1, 0, "afterglow-launch");
	table = process_table_new(root_fd, 1, NULL);
	w = (struct process_watch){ 0 };
	n_orders = 0;
	now_ns = 1000 * NS_PER_SEC;
	return table ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	for (pid_t pid = 1; pid < 200; pid++)
		end(pid);
	process_table_free(table);
	unlinkat(root_fd, "proc", AT_REMOVEDIR);
	close(root_fd);
	return rmdir(directory);
}

static void a_process_of_ray_is_watched_once(void **state)
{
	(void)state;
	begin(10, 1, START);
	begin(11, 10, RAYLET);
	begin(12, 11, "/usr/bin/python3 train.py");
	look();
	look();
	assert_int_equal(n_orders, 2);
	assert_int_equal(orders[1].pid, 11);
	assert_int_equal(orders[1].start, 1011);
	assert_true(process_watch_lives(&w, RAY_PROCESS_RAYLET));
	assert_false(process_watch_lives(&w, RAY_PROCESS_GCS_SERVER));
	assert_int_equal(w.n_ends, 0);
}

static void the_launchers_word_is_kept_in_the_order_of_the_ends(void **state)
{
	(void)state;
	begin(10, 1, START);
	begin(11, 10, RAYLET);
	begin(12, 10, RAY "core/src/ray/gcs/gcs_server --log_dir=x");
	look();
	process_watch_ended(&w, 12, true, SIGKILL, 2000);
	process_watch_ended(&w, 11, true, SIGSEGV, 1500);
	process_watch_ended(&w, 999, true, SIGKILL, 1);
	assert_int_equal(w.n_ends, 2);
	assert_int_equal(w.ends[0].kind, RAY_PROCESS_RAYLET);
	assert_int_equal(w.ends[0].wait_status, SIGSEGV);
	assert_int_equal(w.ends[1].kind, RAY_PROCESS_GCS_SERVER);
	assert_false(process_watch_lives(&w, RAY_PROCESS_RAYLET));
	assert_true(process_watch_any_lives(&w));
}

static void without_the_launchers_word_its_absence_counts(void **state)
{
	(void)state;
	begin(10, 1, START);
	begin(11, 10, RAYLET);
	look();
	end(11);
	look();
	assert_int_equal(w.n_ends, 0); /* the launcher's message may still come */
	assert_false(process_watch_lives(&w, RAY_PROCESS_RAYLET));
	look();
	look();
	assert_int_equal(w.n_ends, 1);
	assert_int_equal(w.ends[0].pid, 11);
	assert_false(w.ends[0].status_known);
	assert_int_equal(w.ends[0].ended_ns, 1002 * NS_PER_SEC);
	process_watch_ended(&w, 11, true, SIGKILL, now_ns);
	assert_int_equal(w.n_ends, 1);
}

static void the_end_of_the_container_ends_the_waiting(void **state)
{
	(void)state;
	begin(11, 1, RAYLET);
	look();
	end(11);
	look();
	process_watch_finish(&w);
	assert_int_equal(w.n_ends, 1);
	assert_false(w.ends[0].status_known);
}

static void a_child_between_fork_and_exec_is_not_taken_for_its_parent(void **state)
{
	(void)state;
	begin(10, 1, START);
	begin(11, 10, RAYLET);
	begin(12, 11, RAYLET);
	begin(13, 10, START);
	look();
	assert_int_equal(n_orders, 2);
	end(12);
	begin(13, 10, RAY "core/src/ray/gcs/gcs_server --log_dir=x");
	for (int i = 0; i < 4; i++)
		look();
	assert_int_equal(w.n_ends, 0);
	assert_true(process_watch_lives(&w, RAY_PROCESS_GCS_SERVER));
	assert_int_equal(orders[2].pid, 13);
}

static void a_process_that_ends_while_a_new_sidecar_first_looks_is_not_forgotten(void **state)
{
	(void)state;
	begin(11, 1, RAYLET);
	look();
	process_table_free(table);
	table = process_table_new(root_fd, 1, NULL);
	/* It has given its memory back, and is no zombie yet. */
	write_file("proc/11/cmdline", "", 0);
	look();
	process_watch_ended(&w, 11, true, SIGKILL, 5);
	assert_int_equal(w.n_ends, 1);
	assert_int_equal(w.ends[0].kind, RAY_PROCESS_RAYLET);
}

static void a_driver_is_the_python_program_below_a_supervisor(void **state)
{
	(void)state;
	begin(11, 1, RAYLET);
	begin(20, 11, "ray::JobSupervisor");
	begin(21, 20, "/bin/sh -c python3");
	begin(22, 21, "/usr/bin/python3 train.py");
	begin(30, 11, "/usr/bin/python3 other.py");
	look();
	look();
	assert_true(process_watch_lives(&w, RAY_PROCESS_DRIVER));
	assert_int_equal(orders[n_orders - 1].pid, 22);
	process_watch_ended(&w, 22, true, 1 << 8, 5);
	assert_int_equal(w.ends[0].kind, RAY_PROCESS_DRIVER);
}

static void a_crowd_leaves_room_for_what_counts(void **state)
{
	(void)state;
	for (pid_t pid = 20; pid < 90; pid++)
		begin(pid, 1, "ray::JobSupervisor");
	begin(100, 1, RAYLET);
	look();
	look();
	assert_true(process_watch_lives(&w, RAY_PROCESS_RAYLET));
	for (pid_t pid = 20; pid < 90; pid++)
		process_watch_ended(&w, pid, true, 0, pid);
	for (pid_t pid = 101; pid < 199; pid++)
		begin(pid, 1, RAYLET);
	look();
	look();
	assert_int_equal(w.n, PROCESS_WATCH_MAX);
	for (pid_t pid = 100; pid < 199; pid++)
		process_watch_ended(&w, pid, true, 9, pid);
	assert_int_equal(w.n_ends, PROCESS_ENDS_MAX);
}

static void a_sidecar_that_starts_anew_knows_who_was_watched_and_who_has_ended(void **state)
{
	struct life_ray saved = { 0 };

	(void)state;
	begin(10, 1, START);
	begin(11, 10, RAYLET);
	begin(12, 10, RAY "core/src/ray/gcs/gcs_server --log_dir=x");
	look();
	end(12);
	process_watch_ended(&w, 12, true, SIGKILL, now_ns);
	w.reported_ns = now_ns;
	process_watch_save(&w, &saved);
	w = (struct process_watch){ 0 };
	n_orders = 0;
	process_watch_restore(&w, &saved);
	assert_int_equal(w.n_ends, 1);
	assert_int_equal(w.ends[0].kind, RAY_PROCESS_GCS_SERVER);
	assert_int_equal(w.ends[0].wait_status, SIGKILL);
	assert_int_equal(w.reported_ns, now_ns);
	/*
	 * It ended while no sidecar ran. The launcher has kept that, and still watches the other
	 * process.
	 */
	end(11);
	look();
	assert_int_equal(n_orders, 0);
	process_watch_ended(&w, 11, true, SIGSEGV, now_ns - NS_PER_SEC / 2);
	assert_int_equal(w.n_ends, 2);
	assert_int_equal(w.ends[1].kind, RAY_PROCESS_RAYLET);
	assert_int_equal(w.ends[1].wait_status, SIGSEGV);
	assert_true(process_watch_lived_until(&w, RAY_PROCESS_START, now_ns));
}

static void what_a_damaged_history_says_of_kinds_is_passed_over(void **state)
{
	struct life_ray saved = { .n_watched = 3, .n_ends = 4 };

	(void)state;
	saved.watched[0].pid = 7;
	saved.watched[0].kind = RAY_PROCESS_KINDS;
	saved.watched[1].pid = 8;
	saved.watched[1].looks = -1;
	saved.watched[2].kind = RAY_PROCESS_RAYLET;
	saved.ends[0].kind = -1;
	saved.ends[1].kind = 1000;
	saved.ends[3].kind = RAY_PROCESS_RAYLET;
	saved.ends[3].wait_status = 127;
	process_watch_restore(&w, &saved);
	assert_int_equal(w.n, 0);
	assert_int_equal(w.n_ends, 0);
}

static void ray_goes_on_without_its_log_monitor(void **state)
{
	struct ray_process_end monitor = { RAY_PROCESS_LOG_MONITOR, 12, true, SIGKILL, 0, 0 };
	(void)state;

	begin(11, 1, RAYLET);
	begin(12, 1, "/usr/bin/python3 -u " RAY "_private/log_monitor.py");
	look();
	end(12);
	look();
	monitor.ended_ns = now_ns;
	process_watch_ended(&w, 12, true, SIGKILL, now_ns);
	assert_true(process_watch_goes_on(&w, &monitor));
	begin(10, 1, START);
	look();
	assert_false(process_watch_goes_on(&w, &monitor)); /* `ray start` does not */
	end(10);
	look();
	end(11);
	look();
	process_watch_ended(&w, 11, true, SIGTERM, now_ns);
	assert_false(process_watch_goes_on(&w, &monitor));
	begin(900000, 1, RAYLET); /* so begin() starts it after that */
	look();
	assert_false(process_watch_goes_on(&w, &monitor)); /* Ray was stopped and began anew */
	end(900000);
}

static void the_raylet_of_one_node_of_several_ends_alone(void **state)
{
	struct ray_process_end second = { RAY_PROCESS_RAYLET, 12, true, SIGKILL, 0, 0 };
	(void)state;

	begin(11, 1, RAYLET);
	begin(12, 1, RAYLET);
	look();
	end(12);
	look();
	process_watch_ended(&w, 12, true, SIGKILL, now_ns);
	second.ended_ns = now_ns;
	assert_true(process_watch_goes_on(&w, &second));
	/* A third one lives on when the first is stopped right after. */
	begin(10, 1, RAYLET);
	look();
	second.ended_ns = now_ns;
	end(11);
	look();
	process_watch_ended(&w, 11, true, SIGTERM, now_ns);
	assert_true(process_watch_goes_on(&w, &second));
	second.ended_ns = 5 * NS_PER_SEC; /* before the other one began: it was Ray's only one */
	assert_false(process_watch_goes_on(&w, &second));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_of_ray_is_watched_once, setup, teardown),
		cmocka_unit_test_setup_teardown(the_launchers_word_is_kept_in_the_order_of_the_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(without_the_launchers_word_its_absence_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(the_end_of_the_container_ends_the_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_between_fork_and_exec_is_not_taken_for_its_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_process_that_ends_while_a_new_sidecar_first_looks_is_not_forgotten, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_driver_is_the_python_program_below_a_supervisor, setup, teardown),
		cmocka_unit_test_setup_teardown(a_crowd_leaves_room_for_what_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_sidecar_that_starts_anew_knows_who_was_watched_and_who_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(the_raylet_of_one_node_of_several_ends_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ray_goes_on_without_its_log_monitor, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_a_damaged_history_says_of_kinds_is_passed_over, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
