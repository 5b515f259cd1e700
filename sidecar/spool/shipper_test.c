/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the queue in front of the store. A script takes the place of afterglow-ship, with the
 * faults of the store that the test asks for. The real program and real stores are tested in e2e.
 */
#include "sidecar/spool/shipper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/units.h"
#include "sidecar/spool/ship_look.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"

/* Notes how it was called, then does what the file "mode" says. */
static const char script[] =
	"#!/bin/sh\n"
	"d=$(dirname \"$0\")\n"
	"for a; do last=$a; done\n"
	"echo \"$*\" >>$d/calls\n"
	"case $(cat $d/mode) in\n"
	"ok) echo '{\"file\":\"report.txt\",\"sent\":1,\"total\":1}'; echo '{\"result\":\"shipped\",\"url\":\"s3://b\"}';;\n"
	"again) echo '{\"result\":\"failed\",\"retry\":true,\"kind\":\"network\",\"error\":\"cut off\"}'; exit 1;;\n"
	"mend) echo '{\"result\":\"failed\",\"retry\":false,\"kind\":\"credentials\",\"error\":\"wrong key\"}'; exit 3;;\n"
	"pause) echo '{\"result\":\"failed\",\"retry\":true,\"retryAfterSeconds\":300,\"kind\":\"server\"}'; exit 1;;\n"
	"once) echo ok >$d/mode; exit 1;;\n"
	"hang) exec sleep 1000;;\n"
	"die) kill -9 $$;;\n"
	"flood) head -c 5000000 /dev/zero | tr '\\0' x; echo; echo '{\"result\":\"shipped\"}';;\n"
	"first) case $last in *Killed*) ;; *) echo '{\"result\":\"failed\",\"kind\":\"bundle\"}'; exit 3;; esac;\n"
	"  echo '{\"result\":\"shipped\"}';;\n"
	"esac\n";

#define FIRST "20261121T012906.324Z-Segfault"
#define SECOND "20261121T012907.324Z-Killed"

static char directory[64], spool[80], program[80];
static struct event_base *base;
static struct shipper *shipper;
static unsigned int n_shipped, n_failed, n_idle;

/* The spool is on a disk that does not answer. */
static bool spool_hangs;
void __real_ship_look(const struct ship_question *q, struct ship_look *ret_look);
void __wrap_ship_look(const struct ship_question *q, struct ship_look *ret_look);
void __wrap_ship_look(const struct ship_question *q, struct ship_look *ret_look)
{
	char path[96];

	while (spool_hangs)
		pause();
	snprintf(path, sizeof(path), "%s/die", directory);
	if (q->shipped && unlink(path) == 0)
		_exit(1);
	__real_ship_look(q, ret_look);
}

static void on_shipped(const char *path, void *arg)
{
	(void)path;
	(void)arg;
	n_shipped++;
}

static void on_failed(const struct ship_result *result, void *arg)
{
	(void)result;
	(void)arg;
	n_failed++;
}

static void on_idle(void *arg)
{
	(void)arg;
	n_idle++;
	event_base_loopbreak(base);
}

static void mode(const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/mode", directory);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static void make_bundle(const char *name)
{
	struct bundle *b;

	assert_int_equal(bundle_begin(spool, "ml/demo/pod.1/ray-worker", name, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "report.txt", "it died\n", 8, NULL), 0);
	assert_int_equal(bundle_commit(b, NULL), 0);
}

static bool is_held;

static bool held(void)
{
	return is_held;
}

static int setup(void **state)
{
	struct shipper_options o = { .store.url = "s3://b" };
	const struct shipper_callbacks callbacks = {
		.shipped = on_shipped, .failed = on_failed, .idle = on_idle, .held = held
	};
	(void)state;

	is_held = false;
	snprintf(directory, sizeof(directory), "/tmp/shipper_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(spool, sizeof(spool), "%s/spool", directory);
	snprintf(program, sizeof(program), "%s/ship", directory);
	if (file_put(AT_FDCWD, program, script, strlen(script), 0700, NULL) < 0)
		return -1;
	o.program = program;
	o.spool = spool;
	base = event_base_new();
	shipper = shipper_new(base, &o, &callbacks);
	n_shipped = n_failed = n_idle = 0;
	return shipper ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	shipper_free(shipper);
	while (waitpid(-1, NULL, 0) > 0)
		; /* the shipper killed its children at its end */
	event_base_free(base);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

/* Runs the loop until it is idle, or for that long. */
static void run(int seconds)
{
	const struct timeval tv = { .tv_sec = seconds };

	event_base_loopexit(base, &tv);
	event_base_dispatch(base);
}

/*
 * Meanwhile it is busy and never becomes idle by itself. The loop runs for a second, and again
 * while the child takes longer.
 */
static void run_until_failed(void)
{
	for (int i = 0; i < 20 && (i == 0 || n_failed == 0); i++)
		run(1);
}

static unsigned int calls(const char *with)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	unsigned int n = 0;
	char path[96];

	snprintf(path, sizeof(path), "%s/calls", directory);
	file_read(AT_FDCWD, path, &text, NULL);
	for (const char *p = strbuf_str(&text); (p = strstr(p, with)); p++)
		n++;
	return n;
}

static bool in_spool(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/ml/demo/pod.1/ray-worker/%s", spool, name);
	return access(path, F_OK) == 0;
}

static void what_is_shipped_leaves_the_spool(void **state)
{
	(void)state;
	mode("ok");
	make_bundle(FIRST);
	make_bundle(SECOND);
	shipper_kick(shipper);
	assert_true(shipper_busy(shipper));
	run(20);
	assert_int_equal(n_shipped, 2);
	assert_int_equal(n_idle, 1);
	assert_false(shipper_busy(shipper));
	assert_false(in_spool(FIRST) || in_spool(SECOND));
	assert_int_equal(access(spool, F_OK), 0);
	assert_int_equal(calls("--as ml/demo/pod.1/ray-worker/" FIRST), 1);
	assert_int_equal(shipper_stats(shipper)->shipped, 2);
}

static void a_look_finishes_the_removal_at_which_another_was_killed(void **state)
{
	const struct ship_done done = { .n = 0 };
	const struct ship_question q = { .spool = spool,
					 .shipped = "ml/demo/pod.1/ray-worker/" FIRST,
					 .done = &done };
	struct ship_look look;
	char path[256], hidden[256];

	(void)state;
	make_bundle(FIRST);
	snprintf(path, sizeof(path), "%s/%s", spool, q.shipped);
	snprintf(hidden, sizeof(hidden), "%s/ml/demo/pod.1/ray-worker/." FIRST ".partial", spool);
	assert_return_code(rename(path, hidden), errno);
	ship_look(&q, &look);
	assert_false(look.found || look.stays);
	snprintf(path, sizeof(path), "%s/ml", spool);
	assert_int_equal(access(path, F_OK), -1);
}

static void an_empty_spool_or_none_is_nothing_to_do(void **state)
{
	(void)state;
	shipper_kick(shipper);
	run(5);
	assert_int_equal(n_idle, 1);
	assert_int_equal(calls("--as"), 0);
}

static void what_failed_is_tried_again_and_stays_until_then(void **state)
{
	(void)state;
	mode("once");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run(20);
	assert_int_equal(n_failed, 1);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
	assert_false(shipper_stats(shipper)->failing);
}

static void a_store_that_is_down_keeps_everything_here(void **state)
{
	(void)state;
	mode("again");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run_until_failed();
	/* Further bundles do not make the next try come earlier. */
	for (int i = 0; i < 50; i++) {
		shipper_kick(shipper);
		run(0);
	}
	assert_in_range(n_failed, 1, 10);
	assert_true(in_spool(FIRST));
	assert_true(shipper_busy(shipper));
	assert_true(shipper_stats(shipper)->failing);
	assert_string_equal(shipper_stats(shipper)->last.error, "cut off");
	assert_int_equal(shipper_stats(shipper)->failed[SHIP_NETWORK], n_failed);
}

static void the_grace_of_the_pod_is_used_and_no_more(void **state)
{
	int64_t begin = now_boottime_ns();
	(void)state;

	mode("again");
	make_bundle(FIRST);
	shipper_stop(shipper, begin + 8 * NS_PER_SEC);
	run(40);
	assert_int_equal(n_idle, 1);
	assert_true(n_failed >= 1);
	assert_true(in_spool(FIRST));
	assert_true(now_boottime_ns() < begin + 38 * NS_PER_SEC);
}

static void a_pause_that_the_store_asked_for_ends_when_the_pod_goes(void **state)
{
	(void)state;

	mode("pause");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run_until_failed();
	assert_int_equal(n_failed, 1);
	mode("ok");
	shipper_stop(shipper, now_boottime_ns() + 60 * NS_PER_SEC);
	run(60);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
}

static void what_only_a_person_can_mend_does_not_keep_a_pod(void **state)
{
	(void)state;
	mode("mend");
	make_bundle(FIRST);
	shipper_stop(shipper, now_boottime_ns() + 60 * NS_PER_SEC);
	run(30);
	assert_int_equal(n_failed, 1);
	assert_int_equal(n_idle, 1);
	assert_true(in_spool(FIRST));
}

static void one_that_cannot_be_shipped_does_not_keep_back_the_others(void **state)
{
	(void)state;
	mode("first");
	make_bundle(FIRST);
	make_bundle(SECOND);
	shipper_stop(shipper, now_boottime_ns() + 6 * NS_PER_SEC);
	run(30);
	assert_true(n_shipped >= 1);
	assert_true(in_spool(FIRST));
	assert_false(in_spool(SECOND));
}

static void a_child_that_dies_is_a_failure(void **state)
{
	(void)state;
	mode("die");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run_until_failed();
	assert_true(n_failed > 0);
	assert_int_equal(shipper_stats(shipper)->last.kind, SHIP_PROGRAM);
	assert_true(in_spool(FIRST));
}

static void a_program_that_is_not_there_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(unlink(program), 0);
	make_bundle(FIRST);
	shipper_kick(shipper);
	run_until_failed();
	assert_true(n_failed > 0);
	assert_non_null(strstr(shipper_stats(shipper)->last.error, "No such file"));
	assert_true(in_spool(FIRST));
}

static void a_flood_of_output_is_read_past(void **state)
{
	(void)state;
	mode("flood");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run(30);
	assert_int_equal(n_shipped, 1);
}

static void a_store_that_hangs_hangs_the_child_alone(void **state)
{
	int64_t begin = now_boottime_ns();
	(void)state;

	mode("hang");
	make_bundle(FIRST);
	shipper_kick(shipper);
	run(1); /* the loop goes on, so this returns */
	assert_true(now_boottime_ns() - begin < 60 * NS_PER_SEC);
	assert_true(shipper_busy(shipper));
	shipper_stop(shipper, now_boottime_ns());
	run(30);
	assert_int_equal(n_failed, 1);
	assert_int_equal(n_idle, 1);
	assert_true(in_spool(FIRST));
	/* There may be zombies of errands, but no errand may still run. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_spool_that_hangs_hangs_an_errand_alone(void **state)
{
	(void)state;
	mode("ok");
	make_bundle(FIRST);
	spool_hangs = true;
	shipper_kick(shipper);
	run(1); /* the loop goes on, so this returns */
	spool_hangs = false;
	assert_true(shipper_busy(shipper));
	assert_int_equal(n_shipped, 0);
	/* It does not run longer than the pod. */
	shipper_stop(shipper, now_boottime_ns() + 2 * NS_PER_SEC);
	run(60);
	assert_int_equal(n_idle, 1);
	assert_int_equal(n_shipped, 0);
	assert_true(in_spool(FIRST));
}

static void what_is_shipped_is_not_forgotten_when_a_look_fails(void **state)
{
	char path[96];
	(void)state;

	mode("ok");
	make_bundle(FIRST);
	snprintf(path, sizeof(path), "%s/die", directory);
	assert_int_equal(file_put(AT_FDCWD, path, "", 0, 0600, NULL), 0);
	shipper_kick(shipper);
	run(60);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(n_idle, 1);
	assert_int_equal(n_shipped, 1);
	assert_int_equal(calls("--as ml/demo/pod.1/ray-worker/" FIRST), 1);
	assert_false(in_spool(FIRST));
}

static void what_comes_while_it_looks_is_shipped_too(void **state)
{
	(void)state;
	mode("ok");
	shipper_kick(shipper);
	/*
	 * After the timer an errand looks into the spool. Whether it has ended by now does not
	 * matter.
	 */
	event_base_loop(base, EVLOOP_ONCE);
	make_bundle(FIRST);
	shipper_kick(shipper);
	run(60);
	if (n_shipped == 0)
		run(60);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
}

/* Begins to add a core to the bundle "first", and lets the shipper ship it. */
static struct extension *ship_while_added_to(void)
{
	char path[256];
	struct extension *e;
	int fd;

	mode("ok");
	make_bundle(FIRST);
	snprintf(path, sizeof(path), "%s/ml/demo/pod.1/ray-worker/" FIRST, spool);
	assert_int_equal(extend_begin(path, "core.x.1.zst", &e, &fd, NULL), 0);
	shipper_kick(shipper);
	run(20);
	return e;
}

static void what_is_being_added_to_stays_and_is_shipped_again(void **state)
{
	struct extension *e = ship_while_added_to();
	(void)state;

	assert_int_equal(n_shipped, 1);
	assert_true(in_spool(FIRST));
	/* There is nothing new, so it is not shipped again. */
	shipper_kick(shipper);
	run(20);
	assert_int_equal(n_shipped, 1);
	assert_int_equal(extend_commit(e, NULL, NULL), 0);
	shipper_kick(shipper);
	run(20);
	assert_int_equal(n_shipped, 2);
	assert_false(in_spool(FIRST));
}

static void an_addition_that_comes_to_nothing_does_not_keep_it(void **state)
{
	struct extension *e = ship_while_added_to();
	(void)state;

	extend_abort(e);
	shipper_kick(shipper);
	run(20);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
}

static void a_bundle_does_not_leave_the_spool_while_an_addition_is_being_begun(void **state)
{
	(void)state;
	make_bundle(FIRST);
	mode("ok");
	is_held = true;
	shipper_kick(shipper);
	run(1);
	while (calls("--as") == 0)
		run(1);
	run(1);
	assert_int_equal(calls("--as"), 1);
	assert_true(in_spool(FIRST));
	assert_true(shipper_busy(shipper));
	is_held = false;
	run(20);
	assert_int_equal(calls("--as"), 1);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
}

/* The first addition has failed, and another is being begun. */
static void a_shipped_bundle_does_not_leave_while_another_addition_is_being_begun(void **state)
{
	struct extension *e = ship_while_added_to();
	(void)state;

	extend_abort(e);
	is_held = true;
	shipper_kick(shipper);
	run(1);
	assert_true(in_spool(FIRST));
	is_held = false;
	run(20);
	assert_int_equal(n_shipped, 1);
	assert_false(in_spool(FIRST));
}

static void without_descriptors_nothing_is_removed_and_it_tries_again(void **state)
{
	const struct shipper_callbacks callbacks = { .shipped = on_shipped,
						     .failed = on_failed,
						     .idle = on_idle };
	char url[80];
	struct shipper_options o = {
		.program = program, .spool = spool, .store.url = url, .retention.count = 1, .retain_below = "ml/demo", .pruner = "/bin/true",
	};
	struct rlimit usual, none;
	(void)state;

	snprintf(url, sizeof(url), "file://%s/store", directory);
	shipper_free(shipper);
	shipper = shipper_new(base, &o, &callbacks);
	assert_non_null(shipper);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){ 3, usual.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	shipper_kick(shipper);
	run(1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	assert_int_equal(n_idle, 0);
	assert_true(shipper_busy(shipper));
	run(60);
	assert_int_equal(n_idle, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/*
 * Simulates a disk that became read-only. For root this takes a flag of the directory, because
 * modes do not restrict root.
 */
static bool set_immutable(const char *path, bool on)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int flags = 0;

	if (geteuid() != 0)
		return chmod(path, on ? 0500 : 0700) == 0;
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return false;
	flags = on ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

static void what_cannot_leave_the_spool_is_shipped_once(void **state)
{
	char path[256];
	(void)state;

	mode("ok");
	make_bundle(FIRST);
	snprintf(path, sizeof(path), "%s/ml/demo/pod.1/ray-worker/" FIRST, spool);
	assert_true(set_immutable(path, true));
	shipper_kick(shipper);
	run(5);
	assert_int_equal(calls("--as ml/demo/pod.1/ray-worker/" FIRST), 1);
	/*
	 * The disk works again and the shipper is asked to look: the bundle leaves the spool and is
	 * not shipped again.
	 */
	assert_true(set_immutable(path, false));
	shipper_kick(shipper);
	run(5);
	assert_int_equal(calls("--as ml/demo/pod.1/ray-worker/" FIRST), 1);
	assert_false(in_spool(FIRST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_shipped_leaves_the_spool),
		TEST(a_look_finishes_the_removal_at_which_another_was_killed),
		TEST(an_empty_spool_or_none_is_nothing_to_do),
		TEST(what_failed_is_tried_again_and_stays_until_then),
		TEST(a_store_that_is_down_keeps_everything_here),
		TEST(the_grace_of_the_pod_is_used_and_no_more),
		TEST(a_pause_that_the_store_asked_for_ends_when_the_pod_goes),
		TEST(what_only_a_person_can_mend_does_not_keep_a_pod),
		TEST(one_that_cannot_be_shipped_does_not_keep_back_the_others),
		TEST(a_child_that_dies_is_a_failure),
		TEST(a_program_that_is_not_there_is_a_failure),
		TEST(a_flood_of_output_is_read_past),
		TEST(a_store_that_hangs_hangs_the_child_alone),
		TEST(a_spool_that_hangs_hangs_an_errand_alone),
		TEST(what_is_shipped_is_not_forgotten_when_a_look_fails),
		TEST(what_comes_while_it_looks_is_shipped_too),
		TEST(what_is_being_added_to_stays_and_is_shipped_again),
		TEST(an_addition_that_comes_to_nothing_does_not_keep_it),
		TEST(a_bundle_does_not_leave_the_spool_while_an_addition_is_being_begun),
		TEST(a_shipped_bundle_does_not_leave_while_another_addition_is_being_begun),
		TEST(without_descriptors_nothing_is_removed_and_it_tries_again),
		TEST(what_cannot_leave_the_spool_is_shipped_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
