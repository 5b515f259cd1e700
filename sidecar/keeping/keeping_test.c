/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of a bundle that a child writes, while the disk is slow or the child is killed. Linked with
 * --wrap for the commit.
 */
#include "sidecar/keeping/keeping.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"

#define SOON (60 * NS_PER_SEC) /* a generous limit for what takes no time */

/* How the next commit behaves, in whichever child it happens. */
static volatile struct {
	bool dies, dies_after; /* the child dies before or after the bundle is visible */
	bool waits, fails; /* it waits until `waits` is false, and then fails */
} *disk;

int __real_bundle_commit(struct bundle *b, struct err *err);
int __wrap_bundle_commit(struct bundle *b, struct err *err);

int __wrap_bundle_commit(struct bundle *b, struct err *err)
{
	bool fails = disk->fails;

	if (disk->dies_after) {
		disk->dies_after = false;
		__real_bundle_commit(b, err);
		raise(SIGKILL);
	}
	if (disk->dies) {
		disk->dies = false;
		raise(SIGKILL);
	}
	while (disk->waits)
		usleep(1000);
	if (!fails)
		return __real_bundle_commit(b, err);
	disk->fails = false;
	bundle_abort(b);
	return err_set(err, EIO, "commit");
}

static char directory[64];
static struct observer watched;
static const struct record_options options = { .spool = directory };
static struct background child;
static struct event_base *base;
static struct keep_work work;
static struct spool *spool;

static int setup(void **state)
{
	const struct spool_limits limits = { .full_per_loop = 1 };
	struct err err = { 0 };
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	disk = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(directory, sizeof(directory), "/tmp/keeping_test.XXXXXX");
	if (disk == MAP_FAILED || !mkdtemp(directory) ||
	    observer_open(&watched, open("/", O_PATH | O_CLOEXEC), getpid(), NULL, &err) < 0)
		return -1;
	child = BACKGROUND_NONE;
	base = event_base_new();
	if (!base || keeping_init(&work, base, &err) < 0)
		return -1;
	spool = spool_new(directory, &limits, -1);
	return spool ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	background_cancel(&child);
	keeping_release(&work);
	event_base_free(base);
	observer_close(&watched);
	spool_free(spool);
	munmap((void *)disk, sizeof(*disk));
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static void no_news(const struct report *r, void *arg)
{
	(void)r;
	(void)arg;
}

static int written;
static bool is_written;

static void on_written(int rc, struct err *err, void *arg)
{
	(void)err;
	(void)arg;
	written = rc;
	is_written = true;
}

static struct kept kept;

static void begin(const char *signature, struct report *r)
{
	*r = (struct report){ .id.container = "c", .verdict.class = FAILURE_SEGFAULT, .started_unix_ns = NS_PER_SEC,
			      .ended_unix_ns = 2 * NS_PER_SEC };
	snprintf(r->signature, sizeof(r->signature), "%s", signature);
	kept = (struct kept){ .report = r, .observer = &watched, .named = no_news };
	is_written = false;
	work.child = &child;
	work.options = &options;
	work.path = directory;
	work.spool = spool;
	work.on_rest = errand_ignore;
	work.kept = &kept;
	work.done = on_written;
	keeping_begin(&work);
}

static int finish(void)
{
	while (!is_written)
		event_base_loop(base, EVLOOP_ONCE);
	return written;
}

static int write_one(const char *signature, struct report *r)
{
	begin(signature, r);
	return finish();
}

static size_t bundles(void)
{
	char pattern[128];
	glob_t found;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/local/c/*", directory);
	n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return n;
}

/* The report is told while a child still writes its bundle. */
static void begin_on_a_slow_disk(void)
{
	static struct report r;

	disk->waits = true;
	assert_int_equal(write_one("v1:a", &r), 0);
	assert_true(r.directory[0]);
	assert_true(errand_busy(&child.errand));
}

static void a_second_bundle_waits_for_the_first_on_a_slow_disk(void **state)
{
	static struct report r;
	(void)state;

	begin_on_a_slow_disk();
	pid_t first = child.errand.pid;
	begin("v1:b", &r);
	event_base_loop(base, EVLOOP_ONCE);
	assert_int_equal(child.errand.pid, first);
	disk->waits = false;
	assert_int_equal(finish(), 0);
	assert_true(errand_wait_outside_loop(&child.errand, SOON, errand_ignore, NULL));
	assert_int_equal(bundles(), 2);
}

static void a_child_whose_late_commit_fails_writes_the_report_and_ends(void **state)
{
	(void)state;

	disk->fails = true;
	begin_on_a_slow_disk();
	disk->waits = false;
	assert_true(errand_wait_outside_loop(&child.errand, SOON, errand_ignore, NULL));
	assert_int_equal(bundles(), 1);
}

static void a_child_that_is_killed_counts_for_no_repetition(void **state)
{
	static struct report r;
	(void)state;

	disk->dies = true;
	assert_int_equal(write_one("v1:a", &r), 0);
	assert_false(disk->dies);
	assert_int_equal(r.keeping.repeats, 1);
	assert_false(r.keeping.report_only);
}

static void a_child_that_is_killed_when_its_bundle_is_there_is_followed_by_no_second_bundle(void **state)
{
	static struct report r;
	(void)state;

	disk->dies_after = true;
	assert_int_equal(write_one("v1:a", &r), 0);
	assert_false(disk->dies_after);
	assert_int_equal(bundles(), 1);
	assert_int_equal(access(r.directory, F_OK), 0);
	/* The failure counts, so the next one of its kind is a repetition. */
	assert_int_equal(write_one("v1:a", &r), 0);
	assert_int_equal(r.keeping.repeats, 2);
}

/*
 * What a sidecar leaves between the end of its sockets and that of its children, when it is killed
 * before the history has the name.
 */
static void leave_the_child(const struct report *r, void *arg)
{
	siginfo_t end = { 0 };
	(void)r;
	(void)arg;

	kept.named = no_news;
	shutdown(child.errand.fd, SHUT_RDWR);
	waitid(P_PID, (id_t)child.errand.pid, &end, WEXITED | WNOWAIT);
	assert_int_equal(bundles(), 0);
}

static void a_child_without_permission_makes_no_bundle_visible(void **state)
{
	static struct report r;
	(void)state;

	begin("v1:a", &r);
	kept.named = leave_the_child;
	assert_int_equal(finish(), 0);
	assert_ptr_equal(kept.named, no_news);
	assert_int_equal(bundles(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_without_permission_makes_no_bundle_visible),
		TEST(a_second_bundle_waits_for_the_first_on_a_slow_disk),
		TEST(a_child_whose_late_commit_fails_writes_the_report_and_ends),
		TEST(a_child_that_is_killed_counts_for_no_repetition),
		TEST(a_child_that_is_killed_when_its_bundle_is_there_is_followed_by_no_second_bundle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
