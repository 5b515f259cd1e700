/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher and the other processes of its container: it reaps, watches and kills them. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/kernel/launch_testing.h"

static void expect_orphans_reaped(const struct how *how)
{
	struct process p = start(how, "--", probe, "orphans", "50", NULL);

	read_text(p.out, "ready\n");
	wait_for_children(p.pid, 1); /* the command */
	assert_int_equal(count_zombies(p.pid), 0);
	close_input(&p);
	assert_int_equal(finish(&p), 0);
}

static void orphans_are_reaped_by_pid_1(void **state)
{
	(void)state;
	expect_orphans_reaped(&as_pid1);
}

static void orphans_are_reaped_by_a_launcher_that_is_not_pid_1(void **state)
{
	(void)state;
	expect_orphans_reaped(&usual);
}

static void expect_kill_ends_all(const struct how *how)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(how, "--", probe, "family", "5", NULL);

	sidecar_greet(&s);
	read_text(p.out, "ready\n");
	order(&s, "kill");
	assert_int_equal(receive_exit(&s), 9);
	/*
	 * Otherwise the launcher would end, and all others with it, while we wait for their ends.
	 */
	order(&s, "hold 600");
	wait_for_children(p.pid, 0);
	kill(p.pid, SIGTERM);
	assert_int_equal(finish(&p), 137);
	sidecar_release(&s);
}

static void kill_ends_every_process_of_the_container_with_137(void **state)
{
	(void)state;
	expect_kill_ends_all(&as_pid1);
}

static void kill_ends_every_process_below_a_launcher_that_is_not_pid_1(void **state)
{
	(void)state;
	expect_kill_ends_all(&usual);
}

/* Returns when the process started: field 22 of its stat. */
static unsigned long long start_of(pid_t pid)
{
	char text[1024], *at;

	assert_true(read_proc(pid, "stat", text, sizeof(text)));
	at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	return strtoull(at, NULL, 10);
}

static void order_watch(const struct sidecar *s, pid_t pid, unsigned long long started)
{
	char text[64];

	snprintf(text, sizeof(text), "watch %d %llu", (int)pid, started);
	order(s, text);
}

static void a_watched_grandchild_is_reported_before_the_exit(void **state)
{
	/* Its parent reaps it late, as `ray start` does: a shell that reads does not reap. */
	static const char script[] =
		"sleep 300 & echo $!; read x; kill -9 $!; read y; wait; exit 1";
	struct sidecar s = sidecar_listen();
	struct process p = start(&usual, "--", "/bin/sh", "-c", script, NULL);
	char expected[40];
	pid_t pid;

	(void)state;
	sidecar_greet(&s);
	pid = (pid_t)strtol(read_text(p.out, "\n"), NULL, 10);
	order_watch(&s, pid, start_of(pid));
	order_watch(&s, pid, start_of(pid) + 1);
	snprintf(expected, sizeof(expected), "unwatched %d %d", (int)pid, ESRCH);
	assert_string_equal(receive_text(&s), expected);
	assert_int_equal(write(p.in, "x\n", 2), 2);
	snprintf(expected, sizeof(expected), "ended %d 9 ", (int)pid);
	assert_memory_equal(receive_text(&s), expected, strlen(expected));
	close_input(&p);
	expect_end(&s, &p, 1 << 8);
}

static int count_descriptors(pid_t pid)
{
	char path[40];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void a_sidecar_that_orders_a_million_watches_harms_nobody(void **state)
{
	struct sidecar s = sidecar_listen();
	struct process p = start(&usual, "--", "/bin/sh", "-c", "read x; exit 3", NULL);
	char text[64];

	(void)state;
	sidecar_greet(&s);
	for (int i = 0; i < 1000000; i++) {
		int n = snprintf(text, sizeof(text), i % 2 ? "watch %d 1" : "watch %d", i % 100000);

		/*
		 * The launcher reads one order in each round of its loop, and continues although
		 * nobody reads its answers.
		 */
		if (send(s.connection, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			usleep(10);
	}
	assert_true(count_descriptors(p.pid) < 40);
	close_input(&p);
	sidecar_hang_up(&s);
	assert_int_equal(finish(&p), 3);
	sidecar_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orphans_are_reaped_by_pid_1),
		cmocka_unit_test(orphans_are_reaped_by_a_launcher_that_is_not_pid_1),
		cmocka_unit_test(kill_ends_every_process_of_the_container_with_137),
		cmocka_unit_test(kill_ends_every_process_below_a_launcher_that_is_not_pid_1),
		cmocka_unit_test(a_watched_grandchild_is_reported_before_the_exit),
		cmocka_unit_test(a_sidecar_that_orders_a_million_watches_harms_nobody),
	};

	return RUN_LAUNCH_TESTS(tests);
}
