/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of recovery: what a previous sidecar may have left, and how it is handled. */
#include "sidecar/keeping/recovery.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/ending/life.h"

#define MIB ((int64_t)1 << 20)

static char directory[64], spool[80];
static int rings;
static struct record_options options;

/* --- What was reported --- */
static struct failure reported[8];
static char reported_text[8192];
static size_t n_reported;

static void on_reported(const struct failure *f, const char *text, void *arg)
{
	(void)arg;
	assert_true(n_reported < ARRAY_SIZE(reported));
	reported[n_reported++] = *f;
	snprintf(reported_text, sizeof(reported_text), "%s", text);
}

static int setup(void **state)
{
	char path[128];
	(void)state;

	snprintf(directory, sizeof(directory), "/tmp/recovery_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(spool, sizeof(spool), "%s/spool", directory);
	snprintf(path, sizeof(path), "%s/.sidecar", spool);
	options = (struct record_options){
		.spool = spool, .warn_at = 0.8, .kernel_log.off = true, .report_fd = 2,
		.id = { .namespace = "ml", .cluster = "c", .pod = "pod", .pod_uid = "0123456789" },
	};
	n_reported = 0;
	if (dir_make_all(path, 0700, NULL) < 0)
		return -1;
	rings = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return rings < 0;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	close(rings);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static size_t matches(const char *root, const char *pattern)
{
	char path[256];
	glob_t found;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", root, pattern);
	n = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return n;
}

static size_t bundles(void)
{
	return matches(spool, "ml/c/pod.01234567/ray-worker/*/MANIFEST.json");
}

/*
 * Makes a life that began ten seconds ago and was last seen five seconds ago, with so much of 100
 * MiB in use, growing by 10 MiB/s.
 */
static struct life a_life(void)
{
	struct life l;

	life_begin(&l, "ray-worker", now_boottime_ns() - 10 * NS_PER_SEC, 1);
	l.cgroup_version = 2;
	l.baseline.oom_kill = l.baseline.oom_group_kill = 0;
	return l;
}

static void leave(const struct life *l, int64_t used)
{
	char file[128];
	struct history *h;

	snprintf(file, sizeof(file), "%s.%lld.ring", l->name, (long long)l->started_ns);
	h = history_create(rings, file, l, NULL);
	assert_non_null(h);
	for (int i = 4; i >= 0; i--) {
		struct sample s = { .at_ns = l->started_ns + 5 * NS_PER_SEC - i * 100 * NS_PER_MS,
				    .memory = MEMORY_ABSENT,
				    .n_processes = 2,
				    .n_top = 1 };

		s.memory.limit = 100 * MIB;
		s.memory.usage = used - i * MIB;
		s.memory.oom_kill = 0;
		s.top[0].pid = 7;
		s.top[0].rss = used;
		snprintf(s.top[0].name, sizeof(s.top[0].name), "ray::leak");
		history_add(h, &s);
	}
	history_free(h);
}

static struct event_base *base;
static struct keeper *keeper;

static void run(void)
{
	while (keeper_is_keeping(keeper))
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
}

static void stop(struct recovery *r)
{
	run();
	recovery_free(r);
	keeper_free(TAKE_PTR(keeper));
	event_base_free(TAKE_PTR(base));
}

static struct recovery *start(void)
{
	struct recovery *r = recovery_new(&options, on_reported, NULL);

	assert_non_null(r);
	base = event_base_new();
	assert_int_equal(keeper_new(base, &options, recovery_dirfd(r), NULL, &keeper, NULL), 0);
	recovery_set_keeper(r, keeper);
	recovery_start(r);
	run();
	return r;
}

/* Afterwards another sidecar finds nothing to do. */
static void finish(struct recovery *r)
{
	recovery_give_up(r);
	stop(r);
	assert_int_equal(matches(spool, ".sidecar/*.ring"), 0);
	r = start();
	assert_int_equal(recovery_waiting(r), 0);
	stop(r);
}

static void who_does_not_come_back_has_ended(void **state)
{
	struct life l = a_life();
	struct recovery *r;
	(void)state;

	leave(&l, 97 * MIB);
	r = start();
	assert_int_equal(recovery_waiting(r), 1);
	assert_int_equal(n_reported, 0);
	finish(r);
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_KERNEL_OOM_CONTAINER);
	assert_int_equal(reported[0].confidence, CONFIDENCE_LIKELY);
	assert_int_equal(reported[0].exit_code, -1);
	assert_false(reported[0].container_lives);
	assert_non_null(strstr(reported_text, "ray::leak"));
	assert_null(strstr(reported_text, "\n  exit "));
	assert_int_equal(bundles(), 1);
}

static void who_comes_back_goes_on(void **state)
{
	struct life l = a_life();
	struct recovery *r;
	struct history *h;
	(void)state;

	leave(&l, 97 * MIB);
	r = start();
	h = recovery_history(r, &l);
	assert_non_null(h);
	assert_int_equal(history_last(h)->memory.usage, 97 * MIB);
	assert_int_equal(recovery_waiting(r), 0);
	recovery_give_up(r);
	run();
	assert_int_equal(n_reported, 0);
	/* This happens again after a lost connection. */
	history_free(h);
	h = recovery_history(r, &l);
	assert_non_null(history_last(h));
	history_free(h);
	recovery_forget(r, &l);
	finish(r);
	assert_int_equal(bundles(), 0);
}

static void a_later_start_ends_the_one_before(void **state)
{
	struct life l = a_life(), later = a_life(), other = a_life();
	struct recovery *r;
	struct history *h;
	(void)state;

	leave(&l, 10 * MIB);
	snprintf(other.name, sizeof(other.name), "helper");
	leave(&other, 10 * MIB);
	later.started_ns += 8 * NS_PER_SEC;
	r = start();
	assert_int_equal(recovery_waiting(r), 2);
	h = recovery_history(r, &later);
	assert_null(history_last(h));
	assert_true(keeper_is_keeping_of(keeper, "ray-worker"));
	assert_false(keeper_is_keeping_of(keeper, "helper"));
	run();
	assert_false(keeper_is_keeping_of(keeper, "ray-worker"));
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_UNKNOWN);
	assert_string_equal(reported[0].container, "ray-worker");
	assert_int_equal(recovery_waiting(r), 1);
	history_free(h);
	recovery_forget(r, &later);
	finish(r);
	assert_int_equal(n_reported, 2);
}

static void an_end_that_the_launcher_reported_is_described_as_such(void **state)
{
	struct life l = a_life();
	(void)state;

	l.phase = LIFE_ENDED;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	l.status_known = 1;
	l.wait_status = SIGSEGV;
	l.after_known = 1;
	l.after.oom_kill = 0;
	leave(&l, 50 * MIB);
	finish(start());
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_SEGFAULT);
	assert_int_equal(reported[0].exit_code, 139);
	assert_null(strstr(reported_text, "sidecar:"));
	assert_int_equal(bundles(), 1);
}

static void an_end_of_raylet_that_a_sidecar_noted_explains_the_end_for_the_next_one(void **state)
{
	struct life l = a_life();
	(void)state;

	l.phase = LIFE_ENDED;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	l.status_known = 1;
	l.wait_status = 1 << 8;
	l.ray.n_ends = 1;
	l.ray.ends[0].kind = RAY_PROCESS_RAYLET;
	l.ray.ends[0].pid = 42;
	l.ray.ends[0].status_known = 1;
	l.ray.ends[0].wait_status = SIGSEGV;
	l.ray.ends[0].ended_ns = l.ended_ns - 2 * NS_PER_SEC;
	leave(&l, 50 * MIB);
	finish(start());
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_RAYLET_FAILED);
	assert_non_null(strstr(reported_text, "SIGSEGV"));
}

static void a_container_that_was_asked_to_stop_has_not_failed_for_the_next_sidecar(void **state)
{
	struct life l = a_life();
	(void)state;

	l.phase = LIFE_ENDED;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	l.status_known = 1;
	l.wait_status = 1 << 8;
	l.asked_signal = SIGTERM;
	l.asked_ns = l.ended_ns - 3 * NS_PER_SEC;
	leave(&l, 50 * MIB);
	finish(start());
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_TERMINATED);
}

static void a_clean_end_is_no_failure(void **state)
{
	struct life l = a_life();
	(void)state;

	l.phase = LIFE_ENDED;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	l.status_known = 1;
	leave(&l, 50 * MIB);
	finish(start());
	assert_int_equal(n_reported, 0);
	assert_int_equal(bundles(), 0);
}

/* The sidecar died after it had noted the bundle's place. */
static void a_bundle_that_exists_is_reported_and_not_written_again(void **state)
{
	struct life l = a_life();
	(void)state;

	leave(&l, 97 * MIB);
	finish(start());
	assert_int_equal(bundles(), 1);
	l.phase = LIFE_REPORTING;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	snprintf(l.bundle, sizeof(l.bundle), "%s/%s", spool, strchr(reported[0].bundle, '/') + 1);
	leave(&l, 97 * MIB);
	finish(start());
	assert_int_equal(bundles(), 1);
	assert_int_equal(n_reported, 2);
	assert_string_equal(reported[0].sentence, reported[1].sentence);
	assert_string_equal(reported[0].bundle, reported[1].bundle);
	assert_int_equal(reported[0].ended_unix_ns / NS_PER_MS,
			 reported[1].ended_unix_ns / NS_PER_MS);
	/* The bundle was noted, but is not there yet. */
	snprintf(l.bundle, sizeof(l.bundle), "%s/none", spool);
	leave(&l, 97 * MIB);
	finish(start());
	assert_int_equal(bundles(), 2);
	assert_int_equal(n_reported, 3);
	/* It was reported, and kept nowhere. */
	l.phase = LIFE_REPORTED;
	l.bundle[0] = '\0';
	leave(&l, 97 * MIB);
	finish(start());
	assert_int_equal(n_reported, 3);
}

static void a_noted_bundle_on_a_disk_that_does_not_answer_is_written_anew(void **state)
{
	struct life l = a_life();
	char bundle[96], text[112];
	(void)state;

	snprintf(bundle, sizeof(bundle), "%s/silent", spool);
	snprintf(text, sizeof(text), "%s/report.txt", bundle);
	assert_int_equal(mkdir(bundle, 0700), 0);
	/* A process that opens the FIFO waits for a writer. */
	assert_int_equal(mkfifo(text, 0600), 0);
	l.phase = LIFE_REPORTING;
	l.ended_ns = l.started_ns + 6 * NS_PER_SEC;
	snprintf(l.bundle, sizeof(l.bundle), "%s", bundle);
	leave(&l, 97 * MIB);
	finish(start());
	assert_int_equal(n_reported, 1);
	assert_int_equal(bundles(), 1);
}

static void a_process_report_that_was_written_is_not_due_again(void **state)
{
	struct life l = a_life();
	struct recovery *r;
	struct history *h;
	(void)state;

	l.phase = LIFE_REPORTING;
	l.oom_seen_ns = l.started_ns + NS_PER_SEC;
	l.after.oom_kill = 1;
	snprintf(l.bundle, sizeof(l.bundle), "%s", spool); /* any existing directory */
	leave(&l, 50 * MIB);
	r = start();
	h = recovery_history(r, &l);
	assert_int_equal(history_life(h)->phase, LIFE_RUNS);
	assert_int_equal(history_life(h)->baseline.oom_kill, 1);
	assert_int_equal(history_life(h)->oom_seen_ns, 0);
	history_free(h);
	recovery_forget(r, &l);
	finish(r);
}

static void a_restart_of_the_machine_is_reported_with_the_times_before_it(void **state)
{
	struct life l = a_life();
	char when[TIME_TEXT_MAX];
	(void)state;

	/* That machine had run for 100 days, and stopped an hour ago. */
	snprintf(l.boot_id, sizeof(l.boot_id), "another");
	l.started_ns = 100 * 86400 * NS_PER_SEC;
	l.unix_offset_ns = now_realtime_ns() - 3600 * NS_PER_SEC - l.started_ns;
	leave(&l, 50 * MIB);
	finish(start());
	assert_int_equal(n_reported, 1);
	assert_int_equal(reported[0].class, FAILURE_NODE_LOST);
	time_format(l.started_ns + 5 * NS_PER_SEC + l.unix_offset_ns, when);
	when[19] = '\0';
	assert_int_equal(llabs(reported[0].ended_unix_ns -
			       (l.started_ns + 5 * NS_PER_SEC + l.unix_offset_ns)) < NS_PER_SEC,
			 1);
	assert_non_null(strstr(reported_text, when + 11));
	assert_non_null(strstr(reported_text, "5.0 s after its start"));
}

static void what_is_not_readable_is_removed(void **state)
{
	static const char *const files[] = { "x.1.ring", "ray-worker.7.ring", "...ring", "-.ring" };
	struct life l = a_life();
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(file_write(rings, files[i], "AGRING1", 7, 0600, NULL), 0);
	/* The history is valid, but has another container's file name. */
	leave(&l, 50 * MIB);
	snprintf(l.name, sizeof(l.name), "../../x");
	struct history *h = history_create(rings, "evil.ring", &l, NULL);
	history_free(h);
	struct recovery *r = start();
	assert_int_equal(recovery_waiting(r), 1);
	finish(r);
	assert_int_equal(n_reported, 1);
}

#define HALF ".20261121T012906.324Z-Segfault.partial"

static void half_written_bundles_go_and_others_of_the_spool_stay(void **state)
{
	char path[256];
	(void)state;

	for (size_t i = 0; i < 4; i++) {
		static const char *const places[] = { "ml/c/pod.01234567/ray-worker/" HALF "/logs",
						      "ml/c/pod.01234567/ray-worker/whole",
						      "ml/c/other.01234567/ray-worker/" HALF,
						      "ml/c/pod.01234567/ray-worker/.x" };

		snprintf(path, sizeof(path), "%s/%s", spool, places[i]);
		assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	}
	finish(start());
	assert_int_equal(matches(spool, "ml/c/pod.01234567/ray-worker/" HALF), 0);
	assert_int_equal(matches(spool, "ml/c/pod.01234567/ray-worker/whole"), 1);
	assert_int_equal(matches(spool, "ml/c/pod.01234567/ray-worker/.x"), 1);
	assert_int_equal(matches(spool, "ml/c/other.01234567/ray-worker/" HALF), 1);
}

static void without_a_spool_nothing_survives_and_nothing_breaks(void **state)
{
	struct life l = a_life();
	struct recovery *r;
	(void)state;

	options.spool = NULL;
	r = start();
	assert_null(recovery_history(r, &l));
	recovery_forget(r, &l);
	stop(r);
	options.spool = "/proc/self/nowhere";
	r = start();
	assert_int_equal(recovery_dirfd(r), -1);
	assert_null(recovery_history(r, &l));
	recovery_give_up(r);
	stop(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_does_not_come_back_has_ended),
		TEST(who_comes_back_goes_on),
		TEST(a_later_start_ends_the_one_before),
		TEST(an_end_that_the_launcher_reported_is_described_as_such),
		TEST(an_end_of_raylet_that_a_sidecar_noted_explains_the_end_for_the_next_one),
		TEST(a_container_that_was_asked_to_stop_has_not_failed_for_the_next_sidecar),
		TEST(a_clean_end_is_no_failure),
		TEST(a_bundle_that_exists_is_reported_and_not_written_again),
		TEST(a_noted_bundle_on_a_disk_that_does_not_answer_is_written_anew),
		TEST(a_process_report_that_was_written_is_not_due_again),
		TEST(a_restart_of_the_machine_is_reported_with_the_times_before_it),
		TEST(what_is_not_readable_is_removed),
		TEST(half_written_bundles_go_and_others_of_the_spool_stay),
		TEST(without_a_spool_nothing_survives_and_nothing_breaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
