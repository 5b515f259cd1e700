/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading a previous sidecar's report, from disks that answer and from disks that do not.
 */
#include "sidecar/keeping/kept_report.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "lib/units.h"

#define LONG_NS (60 * NS_PER_SEC)
/* How long to wait for what must not come, also on a busy machine */
#define SHORT_NS (2 * NS_PER_SEC)
#define LARGE (200 * 1024)

static char bundle[64], path[96];
static int dir_fd;
static struct errand errand;
static struct strbuf text, json;

static int setup(void **state)
{
	(void)state;
	snprintf(bundle, sizeof(bundle), "/tmp/kept_report_test.XXXXXX");
	if (!mkdtemp(bundle))
		return -1;
	snprintf(path, sizeof(path), "%s/report.txt", bundle);
	dir_fd = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	errand = ERRAND_NONE;
	strbuf_init(&text, 2 * LARGE);
	strbuf_init(&json, 2 * LARGE);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	errand_cancel(&errand);
	strbuf_release(&text);
	strbuf_release(&json);
	close(dir_fd);
	return tree_remove(AT_FDCWD, bundle) ? 0 : -1;
}

static void both_texts_come_whole_also_large_ones(void **state)
{
	static char large[LARGE];
	(void)state;

	memset(large, 'x', sizeof(large));
	large[0] = '{';
	assert_int_equal(file_put(dir_fd, "report.txt", "it died\n", 8, 0600, NULL), 0);
	assert_int_equal(file_put(dir_fd, "report.json", large, sizeof(large), 0600, NULL), 0);
	assert_int_equal(kept_report_read(&errand, bundle, LONG_NS, &text, &json),
			 KEPT_REPORT_READ);
	assert_string_equal(strbuf_str(&text), "it died\n");
	assert_int_equal(json.len, sizeof(large));
	assert_memory_equal(json.data, large, sizeof(large));
}

static void a_bundle_without_texts_is_there_all_the_same(void **state)
{
	(void)state;
	assert_int_equal(kept_report_read(&errand, bundle, LONG_NS, &text, &json),
			 KEPT_REPORT_READ);
	assert_int_equal(text.len + json.len, 0);
}

static void no_path_and_no_such_directory_are_no_bundle(void **state)
{
	(void)state;
	assert_int_equal(kept_report_read(&errand, "", LONG_NS, &text, &json), KEPT_REPORT_NONE);
	assert_int_equal(kept_report_read(&errand, "/nowhere/at/all", LONG_NS, &text, &json),
			 KEPT_REPORT_NONE);
	assert_int_equal(kept_report_read(&errand, path, LONG_NS, &text, &json), KEPT_REPORT_NONE);
}

static void a_disk_that_does_not_answer_is_left_alone(void **state)
{
	(void)state;
	/* A process that opens the FIFO waits for a writer. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(kept_report_read(&errand, bundle, SHORT_NS, &text, &json),
			 KEPT_REPORT_UNKNOWN);
}

static void wait_for_ever(int, void *)
{
	for (;;)
		pause();
}

/* On a dead disk not even SIGKILL ends the process. */
static void no_second_process_hangs_on_the_same_disk(void **state)
{
	(void)state;
	assert_int_equal(errand_start(&errand, wait_for_ever, NULL, NULL), 0);
	assert_int_equal(kept_report_read(&errand, bundle, LONG_NS, &text, &json),
			 KEPT_REPORT_UNKNOWN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(both_texts_come_whole_also_large_ones),
		TEST(a_bundle_without_texts_is_there_all_the_same),
		TEST(no_path_and_no_such_directory_are_no_bundle),
		TEST(a_disk_that_does_not_answer_is_left_alone),
		TEST(no_second_process_hangs_on_the_same_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
