/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/keeping/parking.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "sidecar/ending/life.h"

static char directory[64];
static int dirfd_ = -1;

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/parking_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	dirfd_ = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dirfd_);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static const char *name_of(int i)
{
	static char name[HISTORY_FILE_MAX];

	snprintf(name, sizeof(name), "c.%d.ring", i);
	return name;
}

static void make(int i)
{
	close(openat(dirfd_, name_of(i), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static bool is_there(int i)
{
	return faccessat(dirfd_, name_of(i), F_OK, 0) == 0;
}

static void a_history_keeps_its_size_limit_and_has_the_name_of_its_life(void **state)
{
	char file[HISTORY_FILE_MAX];
	struct history *h;
	struct stat st;
	struct life l;
	(void)state;

	life_begin(&l, "ray-worker", 77, 1);
	history_file_of(&l, file);
	assert_string_equal(file, "ray-worker.77.ring");
	assert_true(is_history_file(file));
	h = history_create(dirfd_, file, &l, NULL);
	assert_non_null(h);
	assert_int_equal(fstatat(dirfd_, file, &st, 0), 0);
	assert_in_range(st.st_size, 1, HISTORY_BYTES);
	history_free(h);
}

static void what_is_no_history_is_not_taken_for_one(void **state)
{
	static const char *const names[] = { "",	".",	"..", ".ring", "failures.json",
					     "a.ring.", "a.rin" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(is_history_file(names[i]));
}

static void the_bound_follows_the_spools(void **state)
{
	static const struct {
		int64_t spool_bytes;
		size_t max;
	} rows[] = {
		{ 0, HISTORIES_MAX }, { 1, HISTORIES_MIN }, { 4 << 20, 2 }, { 16 << 20, 8 }, { 768 << 20, HISTORIES_MAX },
		{ INT64_MAX, HISTORIES_MAX },
	};
	struct parking p;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		parking_init(&p, dirfd_, rows[i].spool_bytes);
		assert_int_equal(p.max, rows[i].max);
	}
}

static void the_one_that_was_parked_first_makes_room(void **state)
{
	struct parking p;
	(void)state;

	parking_init(&p, dirfd_, 8 * 4 * HISTORY_BYTES); /* room for four */
	for (int i = 0; i < 4; i++)
		make(i);
	assert_false(parking_make_room(&p)); /* all are in use */
	parking_add(&p, name_of(2));
	parking_add(&p, name_of(1));
	assert_true(parking_make_room(&p));
	assert_false(is_there(2));
	make(2);
	parking_take(&p, name_of(1)); /* its launcher has reconnected */
	assert_false(parking_make_room(&p));
	assert_true(is_there(1));
	parking_take(&p, "unknown");
}

static void a_hundred_that_hang_up_leave_a_few_behind(void **state)
{
	struct parking p;
	(void)state;

	parking_init(&p, dirfd_, 0);
	for (int i = 0; i < 100; i++) {
		assert_true(parking_make_room(&p));
		make(i);
		parking_add(&p, name_of(i));
		parking_add(&p, name_of(i)); /* adding it twice changes nothing */
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(is_there(i), i >= 100 - PARKED_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_history_keeps_its_size_limit_and_has_the_name_of_its_life, setup, teardown),
		cmocka_unit_test(what_is_no_history_is_not_taken_for_one),
		cmocka_unit_test_setup_teardown(the_bound_follows_the_spools, setup, teardown),
		cmocka_unit_test_setup_teardown(the_one_that_was_parked_first_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(a_hundred_that_hang_up_leave_a_few_behind, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
