/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of additions to bundles, on disks that answer and on disks that do not. The event loop has
 * to go on meanwhile.
 */
#include "sidecar/crash/addition.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"
#include "sidecar/store/manifest.h"

#define LONG_NS (60 * NS_PER_SEC)
/* How long to wait for what must not come, also on a busy machine */
#define SHORT_NS (2 * NS_PER_SEC)
#define FILE_NAME "core.x.1.zst"
#define MANY 128 /* twice as many files as can wait to be removed */

static char store[64], path[BUNDLE_PATH_MAX + 64];
static struct event_base *base;
static struct err result;
static unsigned int n_done;

/* Stands for a disk that does not answer until the test closes its end of a pipe. */
static int frozen[2] = { -1, -1 };
static bool begin_hangs, commit_hangs, undo_hangs;

static void freeze(bool *what)
{
	assert_int_equal(pipe2(frozen, O_CLOEXEC), 0);
	*what = true;
}

static void thaw(void)
{
	begin_hangs = commit_hangs = undo_hangs = false;
	close(frozen[1]);
	close(frozen[0]);
}

static void wait_for_disk(void)
{
	char byte;

	close(frozen[1]);
	if (read(frozen[0], &byte, 1) != 0)
		_exit(1);
}

/* How many children are to be killed before they have done anything; shared with them. */
static unsigned int *n_begins_to_die, *n_undoes_to_die;

static void die_if(unsigned int *left)
{
	if (*left && (*left)--)
		raise(SIGKILL);
}

int __real_extend_begin(const char *where, const char *file, struct extension **ret_extension,
			int *ret_fd, struct err *err);
int __wrap_extend_begin(const char *where, const char *file, struct extension **ret_extension,
			int *ret_fd, struct err *err);
int __wrap_extend_begin(const char *where, const char *file, struct extension **ret_extension,
			int *ret_fd, struct err *err)
{
	if (begin_hangs)
		wait_for_disk();
	int r = __real_extend_begin(where, file, ret_extension, ret_fd, err);

	die_if(n_begins_to_die);
	return r;
}

int __real_extend_commit(struct extension *e, const char *sha256, struct err *err);
int __wrap_extend_commit(struct extension *e, const char *sha256, struct err *err);
int __wrap_extend_commit(struct extension *e, const char *sha256, struct err *err)
{
	if (commit_hangs)
		wait_for_disk();
	return __real_extend_commit(e, sha256, err);
}

void __real_extend_discard(const char *where, const char *file);
void __wrap_extend_discard(const char *where, const char *file);
void __wrap_extend_discard(const char *where, const char *file)
{
	if (undo_hangs)
		wait_for_disk();
	die_if(n_undoes_to_die);
	__real_extend_discard(where, file);
}

static int share_counters(void **state)
{
	n_begins_to_die =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	n_undoes_to_die = n_begins_to_die + 1;
	(void)state;
	return n_begins_to_die == MAP_FAILED ? -1 : 0;
}

static int setup(void **state)
{
	struct bundle *b;
	(void)state;

	base = event_base_new();
	result = (struct err){ 0 };
	n_done = 0;
	/*
	 * The store is in memory, so that only the test makes a process wait, and not a busy disk.
	 */
	snprintf(store, sizeof(store), "/dev/shm/addition_test.XXXXXX");
	if (!base || !mkdtemp(store) ||
	    bundle_begin(store, "ml/demo/pod.7a0b1c2d/ray-worker", "x", &b, NULL) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", store, bundle_path(b));
	return bundle_add(b, "report.txt", "it died\n", 8, NULL) < 0 || bundle_commit(b, NULL) < 0 ?
		       -1 :
		       0;
}

static int teardown(void **state)
{
	(void)state;
	/* Waits for removals that are late on a busy machine. */
	event_base_dispatch(base);
	event_base_free(base);
	return tree_remove(AT_FDCWD, store) ? 0 : -1;
}

static bool is_pending(void)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return extend_pending(fd);
}

static bool comes_true(bool (*fn)(void))
{
	for (int64_t end = now_boottime_ns() + LONG_NS; now_boottime_ns() < end; usleep(5000)) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		if (fn())
			return true;
	}
	return false;
}

static bool is_not_pending(void)
{
	return !is_pending();
}

static bool is_in_bundle(const char *name)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_json_ cJSON *manifest = NULL;
	cJSON *files;

	assert_int_equal(manifest_read(fd, &manifest, &files, NULL), 0);
	return json_find(files, "name", name) != NULL;
}

static void on_done(const struct err *err, void *arg)
{
	(void)arg;
	result = *err;
	n_done++;
	event_base_loopbreak(base);
}

static uint64_t say_room(uint64_t disk_free, uint64_t disk_size, void *)
{
	return disk_free <= disk_size && disk_size > 0 ? 4711 : 0;
}

static struct addition *begin_in_background(const char *file, addition_room_fn room,
					    int64_t within_ns)
{
	struct addition *a = NULL;

	assert_int_equal(addition_begin(base, path, file, room, within_ns, on_done, NULL, &a, NULL),
			 0);
	assert_int_equal(n_done, 0);
	assert_true(addition_is_beginning());
	return a;
}

/* Runs the loop until the addition has begun, or has failed to. */
static int begins(void)
{
	while (n_done == 0)
		event_base_dispatch(base);
	n_done = 0;
	assert_false(addition_is_beginning());
	return -result.code;
}

static struct addition *begin(const char *file)
{
	struct addition *a = begin_in_background(file, say_room, LONG_NS);

	assert_int_equal(begins(), 0);
	return a;
}

static void commit(struct addition *a, const struct strbuf *text, int64_t within_ns)
{
	assert_int_equal(addition_commit(a, text, NULL, within_ns, on_done, NULL, NULL), 0);
	assert_int_equal(n_done, 0);
}

static void what_a_child_wrote_is_in_the_bundle_once_it_is_committed(void **state)
{
	struct addition *a = begin(FILE_NAME);
	(void)state;

	assert_true(is_pending());
	assert_int_equal(addition_room(a), 4711);
	assert_int_equal(write(addition_fd(a), "core", 4), 4);
	commit(a, NULL, LONG_NS);
	event_base_dispatch(base);
	assert_int_equal(n_done, 1);
	assert_int_equal(result.code, 0);
	assert_true(is_in_bundle(FILE_NAME));
	assert_false(is_pending());
}

static void a_text_is_written_by_the_child(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64), found = STRBUF_INIT(64);
	char file[sizeof(path) + 16];
	(void)state;

	strbuf_add(&text, "frame 0\n", 8);
	commit(begin("backtrace.txt"), &text, LONG_NS);
	event_base_dispatch(base);
	assert_int_equal(result.code, 0);
	snprintf(file, sizeof(file), "%s/backtrace.txt", path);
	assert_int_equal(file_read(AT_FDCWD, file, &found, NULL), 0);
	assert_string_equal(strbuf_str(&found), "frame 0\n");
}

static uint64_t say_no_room(uint64_t, uint64_t, void *)
{
	return 0;
}

static void where_no_file_fits_none_is_begun(void **state)
{
	(void)state;
	begin_in_background(FILE_NAME, say_no_room, LONG_NS);
	assert_int_equal(begins(), -ENOSPC);
	assert_false(is_pending());
}

static void what_the_bundle_has_already_stays(void **state)
{
	(void)state;
	commit(begin("report.txt"), NULL, LONG_NS);
	event_base_dispatch(base);
	assert_int_equal(result.code, EEXIST);
	assert_false(is_pending());
}

static void an_addition_that_is_taken_back_leaves_no_trace(void **state)
{
	(void)state;
	addition_abort(NULL);
	addition_abort(begin(FILE_NAME));
	assert_true(comes_true(is_not_pending));
	assert_false(is_in_bundle(FILE_NAME));
}

static void what_a_killed_process_was_to_take_back_another_one_takes_back(void **state)
{
	(void)state;
	*n_undoes_to_die = 2;
	addition_abort(begin(FILE_NAME));
	assert_true(comes_true(is_not_pending));
	assert_int_equal(*n_undoes_to_die, 0);
}

static void those_that_are_taken_back_while_a_disk_keeps_another_busy_wait_for_it(void **state)
{
	struct addition *first = begin("core.1"), *second = begin("core.2"),
			*third = begin("core.3"), *again = NULL;
	(void)state;

	freeze(&undo_hangs);
	addition_abort(first);
	addition_abort(second);
	addition_abort(third);
	assert_true(is_pending());
	assert_true(addition_is_undoing());
	/* The old file has not been removed yet, and its removal would remove the new one. */
	assert_int_equal(
		addition_begin(base, path, "core.2", NULL, LONG_NS, on_done, NULL, &again, NULL),
		-EBUSY);
	thaw();
	event_base_dispatch(base);
	assert_false(is_pending());
	assert_false(addition_is_undoing());
	addition_abort(begin("core.2"));
}

static void note_pending(void *pending)
{
	*(bool *)pending = is_pending();
}

/* The bundle was looked at while the file was being removed, and could not be shipped then. */
static void when_a_slow_disk_has_taken_back_the_last_one_the_owner_hears_of_it(void **state)
{
	struct addition *first = begin("core.1"), *second = begin("core.2");
	bool pending = true;
	(void)state;

	addition_on_taken_back(note_pending, &pending);
	freeze(&undo_hangs);
	addition_abort(first);
	addition_abort(second);
	thaw();
	event_base_dispatch(base);
	addition_on_taken_back(NULL, NULL);
	assert_false(pending);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void so_many_wait_for_a_dead_disk_and_no_more(void **state)
{
	struct addition *all[MANY];
	char name[16];
	int idle = descriptors();
	(void)state;

	for (size_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "core.%zu", i);
		all[i] = begin(name);
	}
	freeze(&undo_hangs);
	for (size_t i = 0; i < MANY; i++)
		addition_abort(all[i]);
	assert_in_range(descriptors() - idle, 2, 2 + MANY / 2);
	thaw();
	addition_finish();
	assert_true(is_pending()); /* the others are left to the next sidecar */
}

static void what_a_dead_disk_keeps_is_left_to_the_next_sidecar_at_the_end(void **state)
{
	struct addition *first = begin("core.1"), *second = begin("core.2");
	(void)state;

	freeze(&undo_hangs);
	addition_abort(first);
	addition_abort(second);
	addition_finish();
	thaw();
	assert_true(is_pending());
	event_base_dispatch(base);
	/* Nothing delays the next file of that name. */
	addition_abort(begin("core.1"));
}

static void what_a_killed_process_has_begun_is_taken_back(void **state)
{
	(void)state;
	*n_begins_to_die = 1;
	begin_in_background(FILE_NAME, NULL, LONG_NS);
	assert_int_equal(begins(), -ECHILD);
	/*
	 * If the process that removes the file is late, the name is free only after the loop has
	 * seen its end.
	 */
	event_base_dispatch(base);
	assert_false(is_pending());
	addition_abort(begin(FILE_NAME));
}

static void two_that_are_committed_at_once_are_both_in_the_manifest(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		char core[16], text[16];

		snprintf(core, sizeof(core), "core.%d", i);
		snprintf(text, sizeof(text), "text.%d", i);
		struct addition *a = begin(core), *b = begin(text);

		commit(a, NULL, LONG_NS);
		commit(b, NULL, LONG_NS);
		while (n_done < 2)
			event_base_dispatch(base);
		n_done = 0;
		assert_true(is_in_bundle(core));
		assert_true(is_in_bundle(text));
	}
}

static void a_disk_that_does_not_answer_is_left_and_another_addition_can_begin(void **state)
{
	struct addition *other;
	(void)state;

	freeze(&begin_hangs);
	begin_in_background(FILE_NAME, NULL, SHORT_NS);
	begin_hangs = false;
	other = begin_in_background("other", NULL, LONG_NS);
	/* The loop goes on meanwhile: the one that began later is there first. */
	event_base_dispatch(base);
	assert_int_equal(result.code, 0);
	assert_true(addition_is_beginning());
	n_done = 0;
	assert_int_equal(begins(), -ETIMEDOUT);
	thaw();
	addition_abort(other);
	assert_true(comes_true(is_not_pending));
}

static void an_addition_that_is_given_up_before_it_has_begun_is_undone(void **state)
{
	struct addition *a;
	(void)state;

	a = begin_in_background(FILE_NAME, NULL, LONG_NS);
	addition_abort(a);
	assert_false(addition_is_beginning());
	event_base_dispatch(base);
	assert_int_equal(n_done, 0);
	assert_false(is_pending());
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	unsigned int *turns = arg;

	(void)fd;
	(void)what;
	if (++*turns == 3)
		thaw();
}

static void the_loop_turns_while_the_disk_takes_its_time_over_a_commit(void **state)
{
	const struct timeval often = { .tv_usec = 1000 };
	unsigned int turns = 0;
	struct event *timer = event_new(base, -1, EV_PERSIST, on_turn, &turns);
	(void)state;

	freeze(&commit_hangs);
	commit(begin(FILE_NAME), NULL, LONG_NS);
	event_add(timer, &often);
	event_base_dispatch(base);
	event_free(timer);
	assert_true(turns >= 3); /* the commit was over only after the third */
	assert_int_equal(n_done, 1);
	assert_int_equal(result.code, 0);
	assert_true(is_in_bundle(FILE_NAME));
}

static void a_commit_that_takes_too_long_is_given_up(void **state)
{
	(void)state;
	freeze(&commit_hangs);
	commit(begin(FILE_NAME), NULL, SHORT_NS);
	event_base_dispatch(base);
	thaw();
	assert_int_equal(n_done, 1);
	assert_int_equal(result.code, ETIMEDOUT);
	assert_true(comes_true(is_not_pending));
	assert_false(is_in_bundle(FILE_NAME));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_a_child_wrote_is_in_the_bundle_once_it_is_committed),
		TEST(a_text_is_written_by_the_child),
		TEST(where_no_file_fits_none_is_begun),
		TEST(what_the_bundle_has_already_stays),
		TEST(an_addition_that_is_taken_back_leaves_no_trace),
		TEST(what_a_killed_process_was_to_take_back_another_one_takes_back),
		TEST(those_that_are_taken_back_while_a_disk_keeps_another_busy_wait_for_it),
		TEST(when_a_slow_disk_has_taken_back_the_last_one_the_owner_hears_of_it),
		TEST(so_many_wait_for_a_dead_disk_and_no_more),
		TEST(what_a_dead_disk_keeps_is_left_to_the_next_sidecar_at_the_end),
		TEST(what_a_killed_process_has_begun_is_taken_back),
		TEST(two_that_are_committed_at_once_are_both_in_the_manifest),
		TEST(a_disk_that_does_not_answer_is_left_and_another_addition_can_begin),
		TEST(an_addition_that_is_given_up_before_it_has_begun_is_undone),
		TEST(the_loop_turns_while_the_disk_takes_its_time_over_a_commit),
		TEST(a_commit_that_takes_too_long_is_given_up),
	};
	return cmocka_run_group_tests(tests, share_counters, NULL);
}
