/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder when there is no descriptor for another connection. Linked with --wrap for accept4. */
#include "sidecar/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"

static unsigned int n_refused, n_accepted;
static bool refuse;

int __real_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	if (!refuse) {
		n_accepted++;
		return __real_accept4(fd, address, len, flags);
	}
	n_refused++;
	errno = EMFILE;
	return -1;
}

static void run_for(struct event_base *base, const struct timeval *time)
{
	event_base_loopexit(base, time);
	event_base_dispatch(base);
}

static void a_connection_that_cannot_be_taken_is_not_asked_for_at_full_speed(void **state)
{
	char directory[64] = "/tmp/accept_test.XXXXXX";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct recorder_options options = { .socket_path = address.sun_path, .warn_at = 0.8, .report_fd = 2 };
	struct event_base *base = event_base_new();
	struct err err = { 0 };
	struct recorder *r;
	int fd;
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(directory));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	assert_int_equal(recorder_new(base, &options, &r, &err), 0);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	refuse = true;
	run_for(base, &(struct timeval){ .tv_usec = 300000 });
	assert_in_range(n_refused, 1, 2);
	/* It is taken as soon as that is possible again. */
	refuse = false;
	for (int i = 0; i < 100 && !n_accepted; i++)
		run_for(base, &(struct timeval){ .tv_usec = 100000 });
	assert_int_equal(n_accepted, 1);
	assert_int_equal(recorder_active(r), 1);
	recorder_free(r);
	event_base_free(base);
	close(fd);
	assert_true(tree_remove(AT_FDCWD, directory));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_cannot_be_taken_is_not_asked_for_at_full_speed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
