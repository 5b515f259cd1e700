/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which cores of a storm are accepted. In most of them no child can be started,
 * which makes no difference to that; e2e/kernel/cores_test.sh has children.
 */
#include "sidecar/crash/crashes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/loop/child.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/core/elf_core.h"
#include "sidecar/crash/addition.h"
#include "sidecar/store/extend.h"

#define SEED "sidecar/pack/testdata/fuzz/elf_core/small"
#define SEED_SIGNAL_AT 264 /* offset of pr_cursig of its only thread */
#define SEED_TYPE_AT 240 /* offset of the type of its first note, the thread's */
#define BURST 60
#define STORM 300

static char directory[64];
static int dir_fd = -1;
static unsigned int n_over, n_added;
static struct core_stats stats, *counts = &stats;
static struct taken *taken;
static struct event_base *base;
static struct crashes *crashes;

static unsigned int n_unwound;

static void on_unwound(struct crash *crash, void *arg)
{
	(void)crash;
	(void)arg;
	n_unwound++;
}

static void on_added(void *arg)
{
	(void)arg;
	n_added++;
}

static void on_idle(void *arg)
{
	(void)arg;
	event_base_loopbreak(base);
}

static void on_over(const struct core_key *key, bool, void *arg)
{
	(void)key;
	(void)arg;
	n_over++;
}

static const struct core_key *noted; /* the core that is kept */
static bool *asked_for_room; /* shared with the errand that asks */

/* The next sidecar has to know of the core even if this one is killed while the disk is asked. */
static int64_t no_room(void *arg)
{
	(void)arg;
	*asked_for_room = noted && taken_find(taken, noted);
	return 0;
}

static struct {
	unsigned int n;
	struct crash *crash;
	struct err err;
	int discarded;
} looked;

static void on_looked(struct crash *crash, const struct err *err, void *)
{
	looked.n++;
	looked.crash = crash;
	looked.err = *err;
	event_base_loopbreak(base);
}

static void on_discard(const int *fds, size_t n)
{
	assert_int_equal(n, 1);
	close(fds[0]);
	looked.discarded++;
}

/* Turns the loop until n files have been looked at. */
static void await_looks(unsigned int n)
{
	int64_t until_ns = now_boottime_ns() + 60 * NS_PER_SEC;

	while (looked.n < n && now_boottime_ns() < until_ns)
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(looked.n, n);
}

/* Takes fd, and returns the crash if it is one. */
static struct crash *take_fd(int fd, const struct core_hint *hint)
{
	assert_true(crashes_take(crashes, fd, hint));
	await_looks(looked.n + 1);
	return looked.crash;
}

static bool start_crashes(void)
{
	const struct crashes_callbacks callbacks = { .looked = on_looked,
						     .discard = on_discard,
						     .unwound = on_unwound,
						     .added = on_added,
						     .over = on_over,
						     .idle = on_idle,
						     .room = no_room };

	crashes = crashes_new(base, CORES_SUMMARY, -1, taken, counts, &callbacks);
	return crashes != NULL;
}

/* Does what a sidecar does after one that was killed: it knows what was noted. */
static void start_anew(void)
{
	crashes_free(crashes);
	assert_true(start_crashes());
}

static int setup(void **state)
{
	(void)state;

	snprintf(directory, sizeof(directory), "/tmp/crashes_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	base = event_base_new();
	taken = taken_new(-1);
	stats = (struct core_stats){ 0 };
	n_over = n_added = 0;
	memset(&looked, 0, sizeof(looked));
	asked_for_room = mmap(NULL, sizeof(*asked_for_room), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return asked_for_room != MAP_FAILED && start_crashes() ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	crashes_free(crashes);
	addition_finish();
	taken_free(taken);
	event_base_free(base);
	close(dir_fd);
	munmap(asked_for_room, sizeof(*asked_for_room));
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

/* Makes a different core: another file, with other bytes at the end. */
static struct crash *take_again(int number)
{
	const struct core_hint hint = { .comm = "x" };
	char name[24];

	snprintf(name, sizeof(name), "core.%d", number);
	return take_fd(openat(dir_fd, name, O_RDONLY | O_CLOEXEC), &hint);
}

static struct crash *take(int number)
{
	_cleanup_strbuf_ struct strbuf core = STRBUF_INIT(8192);
	char name[24];

	assert_int_equal(file_read(AT_FDCWD, SEED, &core, NULL), 0);
	snprintf(name, sizeof(name), "core.%d", number);
	assert_int_equal(file_put(dir_fd, name, strbuf_str(&core), core.len, 0600, NULL), 0);
	return take_again(number);
}

static void one_whose_bundle_was_never_written_is_taken_anew(void **state)
{
	struct crash *crash = take(1);
	char bundle[96];
	(void)state;

	assert_non_null(crash);
	snprintf(bundle, sizeof(bundle), "%s/bundle", directory);
	crash_will_be_in(crash, bundle);
	start_anew();
	crash = take_again(1);
	assert_non_null(crash);
	crash_drop(crash, CORE_DROP_NO_FAILURE);
}

static void one_whose_bundle_is_there_is_not_reported_again(void **state)
{
	struct crash *crash = take(1);
	_cleanup_close_ int fd = -1;
	struct core_key key;
	char bundle[96];
	(void)state;

	assert_non_null(crash);
	snprintf(bundle, sizeof(bundle), "%s/bundle", directory);
	crash_will_be_in(crash, bundle);
	assert_int_equal(mkdir(bundle, 0700), 0);
	noted = &key;
	fd = openat(dir_fd, "core.1", O_RDONLY | O_CLOEXEC);
	key = taken_key(fd);
	start_anew();
	assert_null(take_again(1));
	assert_true(crashes_busy(crashes)); /* its core is added to that bundle */
}

static void of_many_at_once_some_are_taken_some_are_left_and_the_rest_need_not_lie_there(void **state)
{
	unsigned int n_taken = 0;
	(void)state;

	for (int i = 0; i < STORM; i++)
		n_taken += take(i) != NULL;
	assert_int_equal(n_taken, CRASHES_MAX);
	assert_int_equal(stats.captured, CRASHES_MAX);
	assert_int_equal(stats.dropped[CORE_DROP_BUSY], STORM - CRASHES_MAX);
	assert_in_range(n_over, 1, STORM - CRASHES_MAX - BURST);
}

static void of_many_one_after_the_other_so_many_are_taken(void **state)
{
	int64_t began_ns = now_boottime_ns();
	uint64_t more;
	(void)state;

	for (int i = 0; i < STORM; i++) {
		struct crash *crash = take(i);

		if (crash)
			crash_drop(crash, CORE_DROP_REPORT_ONLY);
	}
	/*
	 * Each costs a fork. On a busy machine the test takes longer, and each ten seconds allow
	 * one more.
	 */
	more = (uint64_t)((now_boottime_ns() - began_ns) / (10 * NS_PER_SEC)) + 1;
	assert_in_range(stats.captured, BURST, BURST + more);
	assert_int_equal(stats.dropped[CORE_DROP_REPORT_ONLY], stats.captured);
	assert_int_equal(stats.dropped[CORE_DROP_RATE], STORM - stats.captured);
	/* No file has to stay: neither those that were processed nor those that never will be. */
	assert_int_equal(n_over, STORM);
}

static void what_is_no_core_is_counted_as_such(void **state)
{
	const struct core_hint hint = { .comm = "x" };
	(void)state;

	assert_null(take_fd(open("/dev/null", O_RDONLY | O_CLOEXEC), &hint));
	assert_null(take_fd(open("/etc/passwd", O_RDONLY | O_CLOEXEC), &hint));
	assert_int_equal(stats.dropped[CORE_DROP_NO_CORE], 2);
	assert_int_equal(stats.captured, 0);
}

/* gcore writes such a core: the process lives on, and the file belongs to the user. */
static void a_core_without_a_signal_is_no_crash_and_stays_where_it_is(void **state)
{
	_cleanup_strbuf_ struct strbuf core = STRBUF_INIT(8192);
	const struct core_hint hint = { .pid = 7, .comm = "x" };
	(void)state;

	assert_int_equal(file_read(AT_FDCWD, SEED, &core, NULL), 0);
	assert_int_equal(core.data[SEED_SIGNAL_AT], SIGSEGV);
	core.data[SEED_SIGNAL_AT] = 0;
	assert_int_equal(file_put(dir_fd, "core.7", core.data, core.len, 0600, NULL), 0);
	assert_null(take_fd(openat(dir_fd, "core.7", O_RDONLY | O_CLOEXEC), &hint));
	assert_int_equal(looked.err.code, ENOEXEC);
	assert_int_equal(stats.dropped[CORE_DROP_NO_CORE], 1);
	assert_int_equal(stats.captured, 0);
	assert_int_equal(n_over, 0);
}

/* Takes a copy of SEED with one byte changed. */
static struct crash *take_changed(int number, size_t at, char byte)
{
	_cleanup_strbuf_ struct strbuf core = STRBUF_INIT(8192);
	char name[24];

	assert_int_equal(file_read(AT_FDCWD, SEED, &core, NULL), 0);
	core.data[at] = byte;
	snprintf(name, sizeof(name), "core.%d", number);
	assert_int_equal(file_put(dir_fd, name, core.data, core.len, 0600, NULL), 0);
	return take_again(number);
}

static void one_of_each_signal_that_dumps_core_is_taken(void **state)
{
	static const int signals[] = { SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS, SIGTRAP };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct crash *crash = take_changed((int)i, SEED_SIGNAL_AT, (char)signals[i]);

		assert_non_null(crash);
		assert_int_equal(crash_info(crash)->signal, signals[i]);
		assert_false(crash_info(crash)->by_debugger);
		crash_drop(crash, CORE_DROP_NO_FAILURE);
	}
}

/* Nothing in the core says that no signal ended its process. */
static void one_without_a_thread_is_taken(void **state)
{
	struct crash *crash = take_changed(1, SEED_TYPE_AT, NT_AUXV);
	(void)state;

	assert_non_null(crash);
	assert_int_equal(crash_info(crash)->signal, 0);
	crash_drop(crash, CORE_DROP_NO_FAILURE);
	assert_int_equal(n_over, 1);
}

/* gcore writes such a core at a breakpoint: it names SIGTRAP, and the file belongs to the user. */
static void the_core_of_a_debugger_is_known_and_stays_where_it_is(void **state)
{
	struct crash *crash = take_changed(1, SEED_TYPE_AT, NT_PRPSINFO);
	(void)state;

	assert_non_null(crash);
	assert_true(crash_info(crash)->by_debugger);
	crash_drop(crash, CORE_DROP_NO_CORE);
	assert_int_equal(stats.dropped[CORE_DROP_NO_CORE], 1);
	assert_int_equal(n_over, 0);
	assert_false(crashes_busy(crashes));
}

static void what_is_no_core_takes_no_place_of_a_crash(void **state)
{
	(void)state;

	for (int i = 0; i < 2 * BURST; i++)
		assert_null(take_changed(i, SEED_SIGNAL_AT, 0));
	for (int i = 0; i < BURST; i++) {
		struct crash *crash = take(2 * BURST + i);

		assert_non_null(crash);
		crash_drop(crash, CORE_DROP_NO_FAILURE);
	}
	assert_int_equal(stats.dropped[CORE_DROP_RATE], 0);
}

static void a_bundle_waits_for_a_backtrace_that_is_on_its_way(void **state)
{
	char bundle[96];
	struct crash *crash = take(1);
	_cleanup_close_ int fd = -1, core_fd = -1;
	struct core_key key;
	(void)state;

	assert_non_null(crash);
	snprintf(bundle, sizeof(bundle), "%s/bundle", directory);
	assert_int_equal(mkdir(bundle, 0700), 0);
	fd = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(crash_is_unwound(crash));
	core_fd = openat(dir_fd, "core.1", O_RDONLY | O_CLOEXEC);
	key = taken_key(core_fd);
	noted = &key;
	/* There is no room for the core, and nothing else is left to add. */
	crash_keep(crash, bundle, false);
	assert_true(addition_is_beginning()); /* the shipper leaves the bundle in the spool */
	while (!*asked_for_room || !extend_pending(fd))
		usleep(1000);
	assert_true(crashes_busy(crashes));
	assert_int_equal(n_added, 0);
	/*
	 * The program does not exist here, so there is no backtrace. An errand takes its file back.
	 */
	while (crashes_busy(crashes) || addition_is_undoing())
		event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(n_added, 2); /* the shipper looks again */
	assert_false(extend_pending(fd));
}

/*
 * The container removes a core while we have it open: the last close frees its blocks, which takes
 * a second for each 10 GiB of memory.
 */
static void no_core_is_closed_on_the_event_loop(void **state)
{
	struct crash *crash = take(1);
	(void)state;

	assert_non_null(crash);
	crash_drop(crash, CORE_DROP_NO_FAILURE);
	assert_int_equal(looked.discarded, 1);
	assert_null(take_again(1)); /* dealt with already */
	assert_int_equal(looked.discarded, 2);
	assert_null(take_changed(2, SEED_SIGNAL_AT, 0)); /* no core */
	assert_int_equal(looked.discarded, 3);
	for (int i = 3; i < 3 + CRASHES_MAX; i++)
		assert_non_null(take(i));
	assert_null(take(3 + CRASHES_MAX)); /* too many */
	assert_int_equal(looked.discarded, 4);
	start_anew();
	assert_int_equal(looked.discarded, 4 + CRASHES_MAX);
}

/* The processes of two containers crash at the same time. A script stands for afterglow-unwind. */
static void two_backtraces_are_made_at_a_time_and_the_others_wait(void **state)
{
	char program[PATH_MAX], begin[96], go[96];
	_cleanup_strbuf_ struct strbuf script = STRBUF_INIT(1024);
	struct crashes *first = crashes;
	unsigned int begun = 0;
	char byte;
	(void)state;

	assert_int_equal(child_beside("afterglow-unwind", program, NULL), 0);
	snprintf(begin, sizeof(begin), "%s/begin", directory);
	snprintf(go, sizeof(go), "%s/go", directory);
	assert_int_equal(mkfifo(begin, 0600) | mkfifo(go, 0600), 0);
	_cleanup_close_ int begin_fd = open(begin, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	_cleanup_close_ int go_fd = open(go, O_RDWR | O_CLOEXEC);
	strbuf_addf(&script, "#!/bin/sh\nprintf b > %s\nread -r x < %s\n", begin, go);
	assert_int_equal(file_put(AT_FDCWD, program, script.data, script.len, 0700, NULL), 0);
	n_unwound = 0;
	for (int i = 0; i < CRASHES_MAX / 2; i++)
		assert_non_null(take(i));
	assert_true(start_crashes());
	for (int i = CRASHES_MAX / 2; i < CRASHES_MAX; i++)
		assert_non_null(take(i));
	assert_null(take(CRASHES_MAX)); /* this bound, too, is of both */
	for (unsigned int released = 0; released < CRASHES_MAX; released++) {
		while (begun < MIN(released + UNWINDERS_MAX, (unsigned int)CRASHES_MAX)) {
			event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
			begun += read(begin_fd, &byte, 1) == 1;
		}
		assert_int_equal(n_unwound, released);
		assert_int_equal(read(begin_fd, &byte, 1), -1);
		assert_int_equal(write(go_fd, "\n", 1), 1);
		while (n_unwound == released)
			event_base_loop(base, EVLOOP_ONCE);
	}
	crashes_free(first);
	unlink(program);
}

/* `afterglow-sidecar exec` makes one for the Ray that goes on, while the first one has cores. */
static void a_sidecar_in_a_fork_does_not_count_the_cores_of_its_parent(void **state)
{
	struct core_stats own = { 0 };
	struct crashes *parents = crashes;
	(void)state;

	for (int i = 0; i < CRASHES_MAX; i++)
		assert_non_null(take(i));
	counts = &own;
	assert_true(start_crashes());
	counts = &stats;
	assert_non_null(take(CRASHES_MAX));
	start_anew();
	assert_int_equal(own.n_crashes, 0);
	crashes_free(parents);
	assert_int_equal(stats.n_crashes, 0);
}

/* The core is on a filesystem that does not answer: a process that reads it hangs. */
static bool core_hangs;
static bool core_times_out; /* as on a soft NFS mount */
static bool core_kills; /* somebody kills the process that reads it */
int __real_elf_core_open(int fd, struct elf_core *ret_core, struct err *err);
int __wrap_elf_core_open(int fd, struct elf_core *ret_core, struct err *err);
int __wrap_elf_core_open(int fd, struct elf_core *ret_core, struct err *err)
{
	while (core_hangs)
		pause();
	if (core_kills)
		raise(SIGKILL);
	if (core_times_out)
		return err_set(err, ETIMEDOUT, "read core");
	return __real_elf_core_open(fd, ret_core, err);
}

static const struct core_hint python = { .pid = 7, .comm = "python" };

static void those_behind_a_core_that_does_not_answer_wait_and_what_is_too_many_stays_the_callers(void **state)
{
	_cleanup_close_ int fd = open(SEED, O_RDONLY | O_CLOEXEC);
	(void)state;

	core_hangs = true;
	assert_true(crashes_take(crashes, dup(fd), &python));
	core_hangs = false;
	for (size_t i = 1; i < UNREAD_CORES_MAX; i++)
		assert_true(crashes_take(crashes, dup(fd), &python));
	assert_int_equal(crashes_unread(crashes), UNREAD_CORES_MAX);
	assert_false(crashes_take(crashes, fd, &python));
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(stats.dropped[CORE_DROP_BUSY], 1);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(looked.n, 0);
	/* When the sidecar ends, nothing is left open. */
	start_anew();
	assert_int_equal(looked.discarded, UNREAD_CORES_MAX);
}

static void after_the_containers_end_a_core_that_does_not_answer_and_those_behind_it_are_given_up(void **state)
{
	_cleanup_close_ int fd = open(SEED, O_RDONLY | O_CLOEXEC);
	(void)state;

	core_hangs = true;
	assert_true(crashes_take(crashes, dup(fd), &python));
	assert_true(crashes_take(crashes, dup(fd), &python));
	core_hangs = false;
	crashes_hurry(crashes);
	await_looks(2);
	assert_null(looked.crash);
	assert_int_equal(looked.err.code, ETIMEDOUT);
	assert_int_equal(looked.discarded, 2);
	assert_int_equal(stats.dropped[CORE_DROP_TIMEOUT], 2);
	assert_int_equal(crashes_unread(crashes), 0);
}

static void a_look_whose_process_is_killed_is_begun_again(void **state)
{
	int fd = open(SEED, O_RDONLY | O_CLOEXEC);
	(void)state;

	core_kills = true;
	assert_true(crashes_take(crashes, fd, &python));
	core_kills = false;
	await_looks(1);
	assert_non_null(looked.crash);
	assert_string_equal(crash_info(looked.crash)->comm, "prog");
}

static void a_core_that_could_not_be_read_is_no_core(void **state)
{
	int fd = open(SEED, O_RDONLY | O_CLOEXEC);
	(void)state;

	core_times_out = true;
	assert_null(take_fd(fd, &python));
	core_times_out = false;
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(stats.dropped[CORE_DROP_NO_CORE], 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_whose_bundle_was_never_written_is_taken_anew),
		TEST(one_whose_bundle_is_there_is_not_reported_again),
		TEST(of_many_at_once_some_are_taken_some_are_left_and_the_rest_need_not_lie_there),
		TEST(of_many_one_after_the_other_so_many_are_taken),
		TEST(a_bundle_waits_for_a_backtrace_that_is_on_its_way),
		TEST(what_is_no_core_is_counted_as_such),
		TEST(a_core_without_a_signal_is_no_crash_and_stays_where_it_is),
		TEST(one_of_each_signal_that_dumps_core_is_taken),
		TEST(one_without_a_thread_is_taken),
		TEST(the_core_of_a_debugger_is_known_and_stays_where_it_is),
		TEST(what_is_no_core_takes_no_place_of_a_crash),
		TEST(those_behind_a_core_that_does_not_answer_wait_and_what_is_too_many_stays_the_callers),
		TEST(after_the_containers_end_a_core_that_does_not_answer_and_those_behind_it_are_given_up),
		TEST(a_look_whose_process_is_killed_is_begun_again),
		TEST(a_core_that_could_not_be_read_is_no_core),
		TEST(no_core_is_closed_on_the_event_loop),
		TEST(two_backtraces_are_made_at_a_time_and_the_others_wait),
		TEST(a_sidecar_in_a_fork_does_not_count_the_cores_of_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
