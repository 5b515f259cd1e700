/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how much of a failure the spool accepts, and of what it drops. */
#include "sidecar/spool/spool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"

#define PARENT "ml/demo/pod.1/ray-worker"

static char directory[64], path[80];
static int state_fd;
static struct spool *spool;
static unsigned int n_gone;

static void make(const struct spool_limits *limits)
{
	spool_free(spool);
	spool = spool_new(path, limits, state_fd);
	assert_non_null(spool);
}

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(directory, sizeof(directory), "/tmp/spool_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/spool", directory);
	state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spool = NULL;
	n_gone = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	spool_free(spool);
	close(state_fd);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static struct report a_crash(const char *name)
{
	struct report r = { .id.container = "ray-worker",
			    .verdict = { .class = FAILURE_SEGFAULT, .exit_code = 139 } };

	snprintf(r.signature, sizeof(r.signature), "v1:Segfault:%s:SIGSEGV", name);
	return r;
}

static void put(const char *name, bool core)
{
	static const char data[512 * 1024];
	char bundle[256];
	struct extension *e;
	struct bundle *b;
	int fd;

	assert_int_equal(bundle_begin(path, PARENT, name, &b, NULL), 0);
	snprintf(bundle, sizeof(bundle), "%s/%s", path, bundle_path(b));
	assert_int_equal(bundle_add(b, "report.txt", "died\n", 5, NULL), 0);
	assert_int_equal(bundle_commit(b, NULL), 0);
	if (!core)
		return;
	assert_int_equal(extend_begin(bundle, "core.x.1.zst", &e, &fd, NULL), 0);
	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	assert_int_equal(extend_commit(e, NULL, NULL), 0);
}

static void gone(const char *bundle, void *arg)
{
	(void)bundle;
	(void)arg;
	n_gone++;
}

static void a_crash_in_a_loop_is_reported_with_its_number(void **state)
{
	const struct spool_limits limits = { .full_per_loop = 1 };
	struct report r = a_crash("a");
	(void)state;

	make(&limits);
	assert_int_equal(spool_admit(spool, &r), KEEP_FULL);
	assert_int_equal(r.keeping.repeats, 1);
	assert_false(r.keeping.report_only);
	for (int i = 2; i <= 11; i++) {
		r = a_crash("a");
		assert_int_equal(spool_admit(spool, &r),
				 i <= CRASH_LOOP_LIGHT ? KEEP_LIGHT : KEEP_COUNT);
		assert_int_equal(r.keeping.repeats, i);
	}
	assert_int_equal(spool_stats(spool)->counted, 1);
	r = a_crash("b");
	assert_int_equal(spool_admit(spool, &r), KEEP_FULL);
	/* The next sidecar knows it, too. */
	make(&limits);
	r = a_crash("a");
	assert_int_equal(spool_admit(spool, &r), KEEP_COUNT);
	assert_int_equal(r.keeping.repeats, 12);
}

/*
 * Two workers end with exit code 1, and only one logged why. The other is not a repetition of it.
 */
static void ends_of_different_causes_are_no_loop_though_the_exit_code_is_the_same(void **state)
{
	const struct spool_limits limits = { .full_per_loop = 1 };
	struct report one = a_crash("a"), other = a_crash("a");
	(void)state;

	make(&limits);
	snprintf(one.signature, sizeof(one.signature), "v1:GCSLost:ray-worker:exit=1");
	snprintf(other.signature, sizeof(other.signature),
		 "v1:ApplicationError:ray-worker:exit=1?");
	assert_int_equal(spool_admit(spool, &one), KEEP_FULL);
	assert_int_equal(spool_admit(spool, &other), KEEP_FULL);
	assert_int_equal(other.keeping.repeats, 1);
}

static void of_ends_whose_cause_is_unknown_every_report_is_kept(void **state)
{
	const struct spool_limits limits = { .full_per_loop = 1 };
	char line[REPORT_LINE_MAX];
	(void)state;

	make(&limits);
	for (int i = 1; i <= 40; i++) {
		struct report r = { .signature = "v1:ApplicationError:ray-worker:exit=1?" };

		assert_int_equal(spool_admit(spool, &r), i == 1 ? KEEP_FULL : KEEP_LIGHT);
		assert_int_equal(r.keeping.repeats, i);
		if (i > 1)
			assert_non_null(strstr(report_repeats(&r.keeping, line),
					       "perhaps of different causes"));
	}
}

static void what_was_dropped_is_reported_once(void **state)
{
	const struct spool_limits limits = { .quota.bytes = 1 << 20 };
	struct report r = a_crash("a");
	(void)state;

	make(&limits);
	for (int i = 0; i < 3; i++)
		put("20261121T012906.324Z-Killed", true);
	spool_settle(spool, gone, NULL);
	assert_int_equal(spool_stats(spool)->dropped[DROP_CORE], 2);
	assert_int_equal(spool_stats(spool)->dropped[DROP_BUNDLE], 0);
	assert_int_equal(spool_stats(spool)->bundles, 3);
	assert_int_equal(n_gone, 0);
	/* The next sidecar does so, too. */
	make(&limits);
	spool_admit(spool, &r);
	assert_int_equal(r.keeping.dropped_cores, 2);
	spool_admit(spool, &r);
	assert_int_equal(r.keeping.dropped_cores, 0);
}

static void too_many_are_dropped_and_named(void **state)
{
	const struct spool_limits limits = { .quota.count = 2 };
	(void)state;

	make(&limits);
	for (int i = 0; i < 5; i++)
		put("20261121T012906.324Z-Segfault", false);
	spool_settle(spool, gone, NULL);
	assert_int_equal(n_gone, 3);
	assert_int_equal(spool_stats(spool)->bundles, 2);
	spool_settle(spool, gone, NULL);
	assert_int_equal(n_gone, 3);
}

static void the_room_is_what_the_bound_leaves(void **state)
{
	const struct spool_limits small = { .quota.bytes = 600 * 1024 },
				  none = { .quota.bytes = 0 };
	(void)state;

	make(&small);
	assert_int_equal(spool_room(spool), 600 * 1024);
	put("20261121T012906.324Z-Killed", true);
	spool_settle(spool, NULL, NULL);
	assert_in_range(spool_room(spool), 1, 88 * 1024);
	make(&none);
	assert_true(spool_room(spool) > 600 * 1024);
}

static void a_store_that_is_the_end_drops_nothing(void **state)
{
	const struct spool_limits limits = { .quota = { .bytes = 1, .count = 1 }, .final = true };
	struct report r = a_crash("a");
	(void)state;

	make(&limits);
	put("20261121T012906.324Z-Killed", true);
	put("20261121T012906.324Z-Killed", true);
	for (int i = 0; i < 20; i++)
		assert_int_equal(spool_admit(spool, &r), KEEP_FULL);
	spool_settle(spool, gone, NULL);
	spool_make_room(spool, 1 << 20);
	assert_int_equal(n_gone, 0);
	assert_int_equal(spool_stats(spool)->dropped[DROP_CORE], 0);
}

static void a_bundle_that_cannot_be_dropped_is_tried_once(void **state)
{
	const struct spool_limits limits = { .quota.count = 1 };
	char from[256], to[512];
	(void)state;

	make(&limits);
	put("20261121T012906.324Z-Segfault", false);
	put("20261121T012907.324Z-Segfault", false);
	/* There is no free name for it while it is removed. */
	snprintf(from, sizeof(from), "%s/" PARENT "/20261121T012906.324Z-Segfault", path);
	snprintf(to, sizeof(to), "%s%0220d", from, 0);
	assert_int_equal(rename(from, to), 0);
	spool_settle(spool, gone, NULL);
	assert_int_equal(n_gone, 0);
	assert_int_equal(spool_stats(spool)->dropped[DROP_BUNDLE], 0);
	assert_int_equal(spool_stats(spool)->bundles, 2);
}

static void a_bundle_with_a_damaged_manifest_does_not_hold_its_room(void **state)
{
	const struct spool_limits limits = { .quota.bytes = 800 * 1024 };
	char manifest[256];
	(void)state;

	make(&limits);
	put("20261121T012906.324Z-Segfault", true);
	put("20261121T012907.324Z-Segfault", true);
	snprintf(manifest, sizeof(manifest),
		 "%s/" PARENT "/20261121T012906.324Z-Segfault/MANIFEST.json", path);
	assert_int_equal(file_put(AT_FDCWD, manifest, "", 0, 0600, NULL), 0);
	spool_settle(spool, gone, NULL);
	assert_int_equal(n_gone, 1);
	assert_int_equal(spool_stats(spool)->bundles, 1);
	assert_in_range(spool_stats(spool)->bytes, 512 * 1024, 800 * 1024);
}

static void a_state_that_is_nonsense_is_none(void **state)
{
	static const char *const texts[] = { "", "[]", "{", "{\"dropped\":7,\"crashes\":{}}",
					     "{\"dropped\":{\"core\":-5}}" };
	const struct spool_limits limits = { .full_per_loop = 1 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct report r = a_crash("a");

		assert_int_equal(
			file_put(state_fd, "spool.json", texts[i], strlen(texts[i]), 0600, NULL),
			0);
		make(&limits);
		assert_int_equal(spool_admit(spool, &r), KEEP_FULL);
		assert_int_equal(r.keeping.dropped_cores, 0);
		assert_int_equal(r.keeping.repeats, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_crash_in_a_loop_is_reported_with_its_number),
		TEST(ends_of_different_causes_are_no_loop_though_the_exit_code_is_the_same),
		TEST(of_ends_whose_cause_is_unknown_every_report_is_kept),
		TEST(what_was_dropped_is_reported_once),
		TEST(too_many_are_dropped_and_named),
		TEST(the_room_is_what_the_bound_leaves),
		TEST(a_store_that_is_the_end_drops_nothing),
		TEST(a_bundle_that_cannot_be_dropped_is_tried_once),
		TEST(a_bundle_with_a_damaged_manifest_does_not_hold_its_room),
		TEST(a_state_that_is_nonsense_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
