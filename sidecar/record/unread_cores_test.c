/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/record/unread_cores.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/units.h"

static const struct core_hint hint = { .pid = 7, .signal = 11, .comm = "python" };

static struct {
	unsigned tries;
	bool reads; /* whether the core can be read */
	struct unread_cores *within; /* if not NULL, the callback retries these */
} reader;

static bool try(int fd, const struct core_hint *of, void *arg)
{
	assert_ptr_equal(arg, &reader);
	assert_int_equal(of->pid, 7);
	assert_string_equal(of->comm, "python");
	reader.tries++;
	if (reader.within)
		unread_cores_retry(reader.within, INT64_MAX, try, arg);
	if (reader.reads)
		close(fd);
	return reader.reads;
}

static int some_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A child closes the descriptor, perhaps a little later. */
static bool is_closed_soon(int fd)
{
	for (int i = 0; i < 6000 && fcntl(fd, F_GETFD) >= 0; i++)
		usleep(10000);
	return fcntl(fd, F_GETFD) < 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&reader, 0, sizeof(reader));
	return 0;
}

static void one_that_was_not_read_in_time_is_tried_again_each_second(void **state)
{
	struct unread_cores u = { .n = 0 };
	(void)state;

	assert_true(unread_cores_put(&u, some_file(), &hint, 0));
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC - 1, try, &reader), 1);
	assert_int_equal(reader.tries, 0);
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC, try, &reader), 1);
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC + 1, try, &reader), 1);
	assert_int_equal(reader.tries, 1);
	reader.reads = true;
	assert_int_equal(unread_cores_retry(&u, 2 * NS_PER_SEC, try, &reader), 0);
	assert_int_equal(reader.tries, 2);
}

static void at_the_end_it_is_tried_at_once_and_stays_until_it_is_let_go(void **state)
{
	struct unread_cores u = { .n = 0 };
	int fd = some_file();
	(void)state;

	assert_true(unread_cores_put(&u, fd, &hint, 0));
	assert_int_equal(unread_cores_retry(&u, INT64_MAX, try, &reader), 1);
	assert_int_equal(reader.tries, 1);
	unread_cores_release(&u);
	assert_int_equal(u.n, 0);
	assert_true(is_closed_soon(fd));
}

static void after_a_minute_it_is_given_up(void **state)
{
	struct unread_cores u = { .n = 0 };
	int fd = some_file();
	(void)state;

	assert_true(unread_cores_put(&u, fd, &hint, 0));
	for (int64_t now = 0; now < 60 * NS_PER_SEC; now += NS_PER_SEC)
		assert_int_equal(unread_cores_retry(&u, now, try, &reader), 1);
	assert_int_equal(unread_cores_retry(&u, 60 * NS_PER_SEC, try, &reader), 0);
	assert_true(is_closed_soon(fd));
}

static void what_is_too_many_stays_the_callers(void **state)
{
	struct unread_cores u = { .n = 0 };
	int fd = some_file();
	(void)state;

	for (size_t i = 0; i < UNREAD_CORES_MAX; i++)
		assert_true(unread_cores_put(&u, some_file(), &hint, 0));
	assert_false(unread_cores_put(&u, fd, &hint, 0));
	assert_int_equal(close(fd), 0);
	reader.reads = true;
	assert_int_equal(unread_cores_retry(&u, INT64_MAX, try, &reader), 0);
	assert_int_equal(reader.tries, UNREAD_CORES_MAX);
}

/* Each core that is late delays the event loop. */
static void of_several_that_are_late_one_is_tried_at_a_time(void **state)
{
	struct unread_cores u = { .n = 0 };
	(void)state;

	for (int i = 0; i < 3; i++)
		assert_true(unread_cores_put(&u, some_file(), &hint, 0));
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC, try, &reader), 3);
	assert_int_equal(reader.tries, 1);
	/* The next try is for another core. */
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC, try, &reader), 3);
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC, try, &reader), 3);
	assert_int_equal(unread_cores_retry(&u, NS_PER_SEC, try, &reader), 3);
	assert_int_equal(reader.tries, 3);
	unread_cores_release(&u);
}

static void a_try_within_a_try_does_nothing(void **state)
{
	struct unread_cores u = { .n = 0 };
	(void)state;

	reader.reads = true;
	reader.within = &u;
	assert_true(unread_cores_put(&u, some_file(), &hint, 0));
	assert_true(unread_cores_put(&u, some_file(), &hint, 0));
	assert_int_equal(unread_cores_retry(&u, INT64_MAX, try, &reader), 0);
	assert_int_equal(reader.tries, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_that_was_not_read_in_time_is_tried_again_each_second, setup),
		cmocka_unit_test_setup(at_the_end_it_is_tried_at_once_and_stays_until_it_is_let_go, setup),
		cmocka_unit_test_setup(after_a_minute_it_is_given_up, setup),
		cmocka_unit_test_setup(what_is_too_many_stays_the_callers, setup),
		cmocka_unit_test_setup(of_several_that_are_late_one_is_tried_at_a_time, setup),
		cmocka_unit_test_setup(a_try_within_a_try_does_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
