/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of following logs, in a directory that stands for a container's root. */
#include "sidecar/ray/ray_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/ray/ray_files.h"

#define CRASH(pid) \
	"{\"label\":\"RAY_WORKER_FAILURE\",\"message\":\"A worker died or was killed while executing a task. Worker ID: ab" pid \
	" Worker PID: " pid " Worker exit type: SYSTEM_ERROR Worker exit detail: gone.\"}\n"
#define EVENTS "events/event_RAYLET.log"

static char root[64];
static int root_fd = -1;
static struct ray_logs *logs;
static int64_t now = NS_PER_SEC;
static struct ray_logs *made[64]; /* what can still be reached has not leaked */
static size_t n_made;
static struct ray_event seen[64];
static size_t n_seen;

static const char *at(const char *path)
{
	static char full[4][512];
	static unsigned int next;

	next = (next + 1) % 4;
	snprintf(full[next], sizeof(full[0]), "%s/%s", root, path);
	return full[next];
}

static const char *log_at(const char *session, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "tmp/ray/%s/logs/%s", session, name);
	return at(path);
}

static void add(const char *path, const char *text)
{
	FILE *f = fopen(path, "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_session(const char *name)
{
	char command[512], target[128];

	snprintf(command, sizeof(command), "mkdir -p %s/tmp/ray/%s/logs/events", root, name);
	assert_int_equal(system(command), 0);
	unlink(at("tmp/ray/session_latest"));
	/* Ray makes this link absolute, so it must be resolved inside the root. */
	snprintf(target, sizeof(target), "/tmp/ray/%s", name);
	assert_int_equal(symlink(target, at("tmp/ray/session_latest")), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/ray_logs_test.XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	logs = made[n_made++] = ray_logs_new(root_fd);
	n_seen = 0;
	return logs && root_fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;

	close(root_fd);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void remember(const struct ray_event *event, const char *file, void *arg)
{
	(void)file;
	(void)arg;
	assert_true(n_seen < ARRAY_SIZE(seen));
	seen[n_seen++] = *event;
}

static void poll_once(void)
{
	now += NS_PER_SEC;
	ray_logs_poll(logs, now, remember, NULL);
}

/* Polls twice: the second poll finds that the last record is complete. */
static void poll_twice(void)
{
	poll_once();
	poll_once();
}

static void a_session_that_begins_later_is_read_from_its_beginning(void **state)
{
	(void)state;
	poll_once();
	assert_int_equal(ray_logs_dir(logs), -1);
	make_session("session_1");
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_twice();
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].pid, 1);
	assert_true(ray_logs_dir(logs) >= 0);
	add(log_at("session_1", EVENTS), CRASH("2") CRASH("3"));
	poll_twice();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[2].pid, 3);
}

static void a_record_of_json_is_over_with_its_line(void **state)
{
	(void)state;
	make_session("session_1");
	poll_once();
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_once();
	assert_int_equal(n_seen, 1);
	poll_twice();
	assert_int_equal(n_seen, 1);
}

static void what_was_there_before_is_history(void **state)
{
	(void)state;
	make_session("session_1");
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_twice();
	assert_int_equal(n_seen, 0);
	add(log_at("session_1", EVENTS), CRASH("2"));
	poll_twice();
	assert_int_equal(n_seen, 1);
}

static void nothing_happens_within_a_second(void **state)
{
	(void)state;
	poll_once();
	make_session("session_1");
	now += NS_PER_SEC / 2;
	ray_logs_poll(logs, now, remember, NULL);
	assert_int_equal(ray_logs_dir(logs), -1);
}

static void a_line_may_come_in_pieces(void **state)
{
	static const char line[] = CRASH("1234");
	(void)state;

	poll_once();
	make_session("session_1");
	for (size_t i = 0; i < sizeof(line) - 1; i++) {
		char piece[2] = { line[i], '\0' };

		add(log_at("session_1", EVENTS), piece);
		if (i % 7 == 0)
			poll_once();
	}
	assert_int_equal(n_seen, 0);
	poll_twice();
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].pid, 1234);
}

static void rotation_loses_nothing(void **state)
{
	(void)state;
	poll_once();
	make_session("session_1");
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_once();
	add(log_at("session_1", EVENTS), CRASH("2"));
	assert_int_equal(rename(log_at("session_1", EVENTS), log_at("session_1", EVENTS ".1")), 0);
	add(log_at("session_1", EVENTS), CRASH("3"));
	poll_twice();
	poll_twice();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[1].pid, 2);
	assert_int_equal(seen[2].pid, 3);
}

static void a_truncated_file_is_read_anew(void **state)
{
	(void)state;
	poll_once();
	make_session("session_1");
	add(log_at("session_1", EVENTS), CRASH("1") CRASH("2"));
	poll_twice();
	assert_int_equal(truncate(log_at("session_1", EVENTS), 0), 0);
	add(log_at("session_1", EVENTS), CRASH("3"));
	poll_twice();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[2].pid, 3);
}

static void a_new_session_takes_over_after_the_last_words_of_the_old_one(void **state)
{
	(void)state;
	poll_once();
	make_session("session_1");
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_once();
	add(log_at("session_1", EVENTS), CRASH("2"));
	make_session("session_2");
	add(log_at("session_2", EVENTS), CRASH("3"));
	poll_twice();
	assert_int_equal(n_seen, 3);
	assert_int_equal(seen[1].pid, 2);
	assert_int_equal(seen[2].pid, 3);
}

static void raylets_own_word_on_the_place_wins(void **state)
{
	char command[256];
	(void)state;

	poll_once();
	make_session("session_1");
	snprintf(command, sizeof(command), "mkdir -p %s/data/ray/session_9/logs/events", root);
	assert_int_equal(system(command), 0);
	add(at("data/ray/session_9/logs/" EVENTS), CRASH("9"));
	ray_logs_set_dir(logs, "/data/ray/session_9/logs");
	poll_twice();
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].pid, 9);
	ray_logs_set_dir(logs, "");
	add(log_at("session_1", EVENTS), CRASH("1"));
	poll_twice();
	assert_int_equal(n_seen, 2);
}

static void last_words_are_read_at_once(void **state)
{
	(void)state;
	poll_once();
	make_session("session_1");
	poll_once();
	/* The line has no end, because raylet was killed while it wrote it. */
	add(log_at("session_1", "raylet.out"),
	    "[2026-11-21 05:00:00,000 E 1 1] (raylet) x.cc:1: Too many open files");
	ray_logs_finish(logs, now, remember, NULL);
	assert_int_equal(n_seen, 1);
	assert_int_equal(seen[0].kind, RAY_FDS_EXHAUSTED);
}

static void huge_lines_and_floods_are_bounded(void **state)
{
	char *big = malloc(6 << 20);
	(void)state;

	poll_once();
	make_session("session_1");
	memset(big, 'x', (6 << 20) - 1);
	big[(6 << 20) - 1] = '\0';
	add(log_at("session_1", EVENTS), "{");
	add(log_at("session_1", EVENTS), big);
	add(log_at("session_1", EVENTS), "\n" CRASH("1"));
	for (int i = 0; i < 40; i++)
		poll_once();
	assert_int_equal(n_seen, 1);
	free(big);
}

static void what_is_no_regular_file_is_not_read(void **state)
{
	char command[512];
	(void)state;

	poll_once();
	make_session("session_1");
	assert_int_equal(mkfifo(log_at("session_1", "raylet.out"), 0666), 0);
	assert_int_equal(symlink("/proc/self/environ", log_at("session_1", "raylet.err")), 0);
	assert_int_equal(mkdir(log_at("session_1", "gcs_server.out"), 0777), 0);
	snprintf(command, sizeof(command), "ln -s /etc/passwd %s",
		 log_at("session_1", "monitor.log"));
	assert_int_equal(system(command), 0);
	poll_twice();
	ray_logs_finish(logs, now, remember, NULL);
	assert_int_equal(n_seen, 0);
}

static void a_link_that_leads_out_of_the_root_leads_nowhere(void **state)
{
	(void)state;
	assert_int_equal(system("true"), 0);
	assert_int_equal(mkdir(at("tmp"), 0777), 0);
	assert_int_equal(mkdir(at("tmp/ray"), 0777), 0);
	assert_int_equal(symlink("../../../../../../..", at("tmp/ray/session_latest")), 0);
	poll_twice();
	assert_int_equal(ray_logs_dir(logs), -1);
}

static void quiet_logs_keep_no_descriptors_beyond_their_own(void **state)
{
	int before = 0, after = 0;
	(void)state;

	poll_once();
	make_session("session_1");
	add(log_at("session_1", "raylet.out"), "x\n");
	poll_twice();
	for (int fd = 0; fd < 256; fd++)
		before += fcntl(fd, F_GETFD) >= 0;
	for (int i = 0; i < 20; i++)
		poll_once();
	for (int fd = 0; fd < 256; fd++)
		after += fcntl(fd, F_GETFD) >= 0;
	assert_int_equal(before, after);
}

/* --- Files of a worker --- */

static void count_file(const char *name, void *arg)
{
	(void)name;
	++*(unsigned int *)arg;
}

static void a_workers_files_are_found_by_its_pid(void **state)
{
	unsigned int n = 0;
	(void)state;

	poll_once();
	make_session("session_1");
	add(log_at("session_1", "worker-ab-01000000-7.out"), "o\n");
	add(log_at("session_1", "worker-ab-01000000-7.err"), "e\n");
	add(log_at("session_1", "worker-ab-01000000-77.err"), "e\n");
	add(log_at("session_1", "python-core-worker-ab_7.log"), "l\n");
	add(log_at("session_1", "python-core-worker-ab_17.log"), "l\n");
	poll_once();
	ray_files_of_pid(ray_logs_dir(logs), 7, count_file, &n);
	assert_int_equal(n, 3);
	assert_false(ray_file_is_of_pid("worker-7", 7));
	assert_false(ray_file_is_of_pid("-7.err", 7));
	assert_false(ray_file_is_of_pid("", 7));
}

static void age(const char *path, time_t seconds)
{
	assert_int_equal(utimensat(AT_FDCWD, path,
				   (struct timespec[]){ { seconds, 0 }, { seconds, 0 } },
				   AT_SYMLINK_NOFOLLOW),
			 0);
}

static void the_newest_files_of_a_kind_come_first(void **state)
{
	char names[3][RAY_FILE_NAME_MAX + 1];
	(void)state;

	poll_once();
	make_session("session_1");
	add(log_at("session_1", "job-driver-old.log"), "o\n");
	age(log_at("session_1", "job-driver-old.log"), 1000);
	add(log_at("session_1", "job-driver-a b.log"), "n\n");
	age(log_at("session_1", "job-driver-a b.log"), 3000);
	add(log_at("session_1", "job-driver-middle.log"), "m\n");
	age(log_at("session_1", "job-driver-middle.log"), 2000);
	/* These are not logs of drivers. */
	add(log_at("session_1", "job-driver-.log"), "x\n");
	add(log_at("session_1", "job-driver-x.log.1"), "x\n");
	add(log_at("session_1", "worker-x.log"), "x\n");
	assert_int_equal(symlink("/etc/hostname", log_at("session_1", "job-driver-link.log")), 0);
	assert_int_equal(mkfifo(log_at("session_1", "job-driver-fifo.log"), 0666), 0);
	poll_once();
	assert_int_equal(ray_files_newest(ray_logs_dir(logs), "job-driver-", ".log", names, 2), 2);
	assert_string_equal(names[0], "job-driver-a b.log");
	assert_string_equal(names[1], "job-driver-middle.log");
	assert_int_equal(ray_files_newest(ray_logs_dir(logs), "job-driver-", ".log", names, 3), 3);
	assert_string_equal(names[2], "job-driver-old.log");
	assert_int_equal(ray_files_newest(ray_logs_dir(logs), "job-driver-", ".log", names, 0), 0);
	assert_int_equal(ray_files_newest(-1, "job-driver-", ".log", names, 3), 0);
}

static void a_file_of_a_time_is_found_only_if_no_other_fits(void **state)
{
	const int64_t s = NS_PER_SEC;
	char name[RAY_FILE_NAME_MAX + 1] = "kept";
	(void)state;

	poll_once();
	make_session("session_1");
	add(log_at("session_1", "job-driver-a.log"), "a\n");
	age(log_at("session_1", "job-driver-a.log"), 1000);
	add(log_at("session_1", "job-driver-b.log"), "b\n");
	age(log_at("session_1", "job-driver-b.log"), 2000);
	poll_once();
	assert_true(ray_file_of_time(ray_logs_dir(logs), "job-driver-", ".log", 1500 * s, 2000 * s,
				     name));
	assert_string_equal(name, "job-driver-b.log");
	assert_false(ray_file_of_time(ray_logs_dir(logs), "job-driver-", ".log", 1000 * s, 2000 * s,
				      name));
	assert_false(ray_file_of_time(ray_logs_dir(logs), "job-driver-", ".log", 2001 * s, 3000 * s,
				      name));
	assert_false(ray_file_of_time(-1, "job-driver-", ".log", 0, INT64_MAX, name));
	assert_string_equal(name, "job-driver-b.log");
}

static void a_tail_begins_with_a_whole_line(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(100);
	(void)state;

	poll_once();
	make_session("session_1");
	poll_once();
	add(log_at("session_1", "raylet.out"), "first line\nsecond line\nthird\n");
	assert_true(ray_file_tail(ray_logs_dir(logs), "raylet.out", 12, &text));
	assert_string_equal(strbuf_str(&text), "third\n");
	strbuf_reset(&text);
	assert_true(ray_file_tail(ray_logs_dir(logs), "raylet.out", 100, &text));
	assert_string_equal(strbuf_str(&text), "first line\nsecond line\nthird\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_record_of_json_is_over_with_its_line),
		TEST(a_session_that_begins_later_is_read_from_its_beginning),
		TEST(what_was_there_before_is_history),
		TEST(nothing_happens_within_a_second),
		TEST(a_line_may_come_in_pieces),
		TEST(rotation_loses_nothing),
		TEST(a_truncated_file_is_read_anew),
		TEST(a_new_session_takes_over_after_the_last_words_of_the_old_one),
		TEST(raylets_own_word_on_the_place_wins),
		TEST(last_words_are_read_at_once),
		TEST(huge_lines_and_floods_are_bounded),
		TEST(what_is_no_regular_file_is_not_read),
		TEST(a_link_that_leads_out_of_the_root_leads_nowhere),
		TEST(quiet_logs_keep_no_descriptors_beyond_their_own),
		TEST(a_workers_files_are_found_by_its_pid),
		TEST(the_newest_files_of_a_kind_come_first),
		TEST(a_file_of_a_time_is_found_only_if_no_other_fits),
		TEST(a_tail_begins_with_a_whole_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
