/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what survives: a directory in memory, and its copy on a disk. */
#include "sidecar/keeping/state_dir.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"

static char disk[64], memory[64];
static struct record_options options;

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(disk, sizeof(disk), "/tmp/state_dir_test.XXXXXX");
	snprintf(memory, sizeof(memory), "/dev/shm/state_dir_test.XXXXXX");
	if (!mkdtemp(disk) || !mkdtemp(memory))
		return -1;
	options = (struct record_options){ .spool = disk, .spool_fallback = memory };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, disk) && tree_remove(AT_FDCWD, memory) ? 0 : -1;
}

static bool has_memory(void)
{
	struct statfs s;

	return statfs("/dev/shm", &s) == 0 && s.f_type == TMPFS_MAGIC;
}

static void put(const struct state_dir *s, const char *name, const char *text)
{
	assert_int_equal(file_put(s->fd, name, text, strlen(text), 0600, NULL), 0);
}

static void file_is(const char *where, const char *name, const char *expected)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);
	char path[128];

	snprintf(path, sizeof(path), "%s/.sidecar/%s", where, name);
	if (!expected)
		assert_int_equal(access(path, F_OK), -1);
	else {
		assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
		assert_string_equal(strbuf_str(&text), expected);
	}
}

/* Makes a copy. It is complete when the child has ended. */
static void copy(struct state_dir *s)
{
	state_dir_copy(s);
	for (int i = 0; i < 20000 && errand_busy(&s->errand); i++)
		usleep(1000);
	assert_false(errand_busy(&s->errand));
}

static void it_is_in_memory_and_the_disk_has_a_copy(void **state)
{
	struct state_dir s;
	(void)state;

	if (!has_memory())
		skip();
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	put(&s, "a.ring", "1");
	file_is(memory, "a.ring", "1");
	file_is(disk, "a.ring", NULL);
	copy(&s);
	file_is(disk, "a.ring", "1");
	put(&s, "b.ring", "2");
	unlinkat(s.fd, "a.ring", 0);
	copy(&s);
	file_is(disk, "a.ring", NULL);
	file_is(disk, "b.ring", "2");
	state_dir_close(&s);
}

static void after_the_nodes_next_start_it_begins_with_the_copy(void **state)
{
	struct state_dir s;
	(void)state;

	if (!has_memory())
		skip();
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	put(&s, "a.ring", "old");
	copy(&s);
	state_dir_close(&s);
	assert_true(tree_remove(AT_FDCWD, memory));
	assert_int_equal(mkdir(memory, 0700), 0);
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	file_is(memory, "a.ring", "old");
	/* What is in memory is newer than any copy. */
	put(&s, "a.ring", "new");
	state_dir_close(&s);
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	file_is(memory, "a.ring", "new");
	state_dir_close(&s);
}

/*
 * A file that this process writes while the disk blocks the child, in the directory to which the
 * child will copy.
 */
static const char *written_meanwhile;

int __real_errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err);
int __wrap_errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err);

int __wrap_errand_start(struct errand *e, errand_fn fn, void *arg, struct err *err)
{
	char path[128];

	if (written_meanwhile) {
		snprintf(path, sizeof(path), "%s/.sidecar/a.ring", memory);
		assert_int_equal(file_put(AT_FDCWD, path, written_meanwhile,
					  strlen(written_meanwhile), 0600, NULL),
				 0);
	}
	return __real_errand_start(e, fn, arg, err);
}

static void a_copy_that_is_late_replaces_nothing(void **state)
{
	struct state_dir s;
	(void)state;

	if (!has_memory())
		skip();
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	put(&s, "a.ring", "old");
	put(&s, "b.ring", "old");
	copy(&s);
	state_dir_close(&s);
	assert_true(tree_remove(AT_FDCWD, memory));
	assert_int_equal(mkdir(memory, 0700), 0);
	written_meanwhile = "new";
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	written_meanwhile = NULL;
	file_is(memory, "a.ring", "new");
	file_is(memory, "b.ring", "old");
	state_dir_close(&s);
}

static void a_place_that_is_no_memory_stands_in_for_a_spool_that_fails_only(void **state)
{
	char plain[80];
	struct state_dir s;
	(void)state;

	snprintf(plain, sizeof(plain), "%s/plain", disk);
	options.spool_fallback = plain;
	assert_int_equal(state_dir_open(&s, &options, NULL), 0);
	put(&s, "a.ring", "1");
	file_is(disk, "a.ring", "1");
	state_dir_copy(&s);
	assert_false(errand_busy(&s.errand));
	state_dir_close(&s);
	options.spool = "/proc/self/nowhere";
	assert_int_equal(state_dir_open(&s, &options, &(struct err){ 0 }), 0);
	put(&s, "b.ring", "2");
	file_is(plain, "b.ring", "2");
	state_dir_close(&s);
	options.spool_fallback = NULL;
	assert_true(state_dir_open(&s, &options, &(struct err){ 0 }) < 0);
	assert_int_equal(s.fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_in_memory_and_the_disk_has_a_copy),
		TEST(after_the_nodes_next_start_it_begins_with_the_copy),
		TEST(a_copy_that_is_late_replaces_nothing),
		TEST(a_place_that_is_no_memory_stands_in_for_a_spool_that_fails_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
