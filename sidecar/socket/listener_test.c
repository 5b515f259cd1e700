/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the listener when no descriptor is free, in a directory where others can write, and in a
 * flood of connections. Linked with --wrap for accept4 and bind.
 */
#include "sidecar/socket/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "lib/budget.h"
#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"

static unsigned int n_refused, n_accepted, n_given;
static bool refuse;
static char directory[64];
static struct sockaddr_un address = { .sun_family = AF_UNIX };
/*
 * A foreign file: as soon as the socket exists, a link to this file replaces it. "": there is no
 * link.
 */
static char target[96];

int __real_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags);
int __real_bind(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len);

int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	if (!refuse) {
		n_accepted++;
		return __real_accept4(fd, from, len, flags);
	}
	n_refused++;
	errno = EMFILE;
	return -1;
}

int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len)
{
	int rc = __real_bind(fd, to, len);

	if (rc == 0 && target[0] &&
	    (unlink(address.sun_path) < 0 || symlink(target, address.sun_path) < 0))
		return -1;
	return rc;
}

static void on_connection(int fd, void *arg)
{
	(void)arg;
	n_given++;
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(directory, sizeof(directory), "/tmp/listener_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	n_refused = n_accepted = n_given = 0;
	refuse = false;
	target[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static void run_for(struct event_base *base, const struct timeval *time)
{
	event_base_loopexit(base, time);
	event_base_dispatch(base);
}

static struct listener *started(struct event_base *base)
{
	struct listener *l = NULL;
	struct err err = { 0 };

	assert_int_equal(listener_new(base, address.sun_path, on_connection, NULL, &l, &err), 0);
	assert_int_equal(listener_start(l, &err), 0);
	return l;
}

static bool connects(void)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void a_connection_that_cannot_be_taken_is_not_asked_for_at_full_speed(void **state)
{
	struct event_base *base = event_base_new();
	struct listener *l = started(base);
	(void)state;

	assert_true(connects());
	refuse = true;
	run_for(base, &(struct timeval){ .tv_usec = 300000 });
	assert_in_range(n_refused, 1, 2);
	/* The connection is accepted as soon as that is possible again. */
	refuse = false;
	for (int i = 0; i < 100 && !n_accepted; i++)
		run_for(base, &(struct timeval){ .tv_usec = 100000 });
	assert_int_equal(n_accepted, 1);
	assert_int_equal(n_given, 1);
	listener_free(l);
	event_base_free(base);
}

static void every_user_may_connect_whatever_our_umask(void **state)
{
	struct event_base *base = event_base_new();
	mode_t mask = umask(0077);
	struct listener *l = started(base);
	struct stat st;
	(void)state;

	assert_int_equal(umask(mask), 0077);
	assert_int_equal(stat(address.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	listener_free(l);
	assert_int_equal(stat(address.sun_path, &st), -1);
	event_base_free(base);
}

static void a_link_put_in_the_sockets_place_opens_nobodys_file_to_others(void **state)
{
	struct event_base *base = event_base_new();
	struct listener *l;
	struct stat st;
	int fd;
	(void)state;

	snprintf(target, sizeof(target), "%s/secret", directory);
	fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	l = started(base);
	assert_int_equal(lstat(address.sun_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	listener_free(l);
	event_base_free(base);
}

static void a_listener_that_ends_late_leaves_its_successors_socket(void **state)
{
	struct event_base *base = event_base_new();
	struct listener *late = started(base), *next = started(base);
	(void)state;

	listener_free(late);
	assert_true(connects());
	listener_free(next);
	assert_false(connects());
	event_base_free(base);
}

static void connections_are_taken_at_a_bounded_pace(void **state)
{
	static const struct {
		int64_t after_ns; /* after the previous step */
		int taken, asked; /* how many were accepted, and how many were asked for */
	} rows[] = {
		{ 5 * NS_PER_SEC, LISTENER_BURST, 1000 },
		{ 0, 0, 1000 },
		{ NS_PER_SEC, LISTENER_PER_S, 1000 },
		{ NS_PER_SEC / LISTENER_PER_S, 1, 1000 },
		{ 2 * NS_PER_SEC, 2 * LISTENER_PER_S, 1000 },
		{ 3600 * NS_PER_SEC, LISTENER_BURST, 1000 },
		{ NS_PER_SEC, 1, 1 },
	};
	struct budget budget = { .spacing_ns = NS_PER_SEC / LISTENER_PER_S,
				 .burst = LISTENER_BURST };
	int64_t now_ns = 0;

	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int taken = 0;

		now_ns += rows[i].after_ns;
		for (int n = 0; n < rows[i].asked; n++)
			taken += budget_wait(&budget, now_ns) == 0;
		assert_int_equal(taken, rows[i].taken);
	}
	/* It also says how long to wait. */
	while (budget_wait(&budget, now_ns) == 0)
		;
	now_ns += budget_wait(&budget, now_ns);
	assert_int_equal(budget_wait(&budget, now_ns), 0);
}

static void a_flood_of_connections_is_taken_slowly_and_not_forgotten(void **state)
{
	struct event_base *base = event_base_new();
	struct listener *l = started(base);
	unsigned int n = 0;
	(void)state;

	for (int i = 0; i < 1000; i++) {
		n += connects();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	/* On a slow machine this may take seconds. */
	assert_in_range(n_given, LISTENER_BURST, 500);
	assert_true(n_given < n);
	for (int i = 0; i < 200 && n_given < n; i++)
		run_for(base, &(struct timeval){ .tv_usec = 100000 });
	assert_int_equal(n_given, n);
	listener_free(l);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_connection_that_cannot_be_taken_is_not_asked_for_at_full_speed, setup, teardown),
		cmocka_unit_test_setup_teardown(every_user_may_connect_whatever_our_umask, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_put_in_the_sockets_place_opens_nobodys_file_to_others, setup, teardown),
		cmocka_unit_test_setup_teardown(a_listener_that_ends_late_leaves_its_successors_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(connections_are_taken_at_a_bounded_pace, setup, teardown),
		cmocka_unit_test_setup_teardown(a_flood_of_connections_is_taken_slowly_and_not_forgotten, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
