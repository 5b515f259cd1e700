/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the bounds of what sidecars have not read. */
#include "node/unread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

#define MESSAGE 1000

static struct unread unread;
static int sidecars[UNREAD_LINKS_MAX];
static size_t n_sidecars;

/*
 * Connects to a pod whose sidecar reads nothing, and sends as much as there is room for. Returns
 * what it holds.
 */
static size_t flood(const char *pod_uid, size_t messages)
{
	size_t room = unread_room(&unread, pod_uid), sent = 0;
	char text[MESSAGE] = "";
	int pair[2], buffer = (int)(MIN(room, (size_t)1 << 20) / 2);

	if (!room)
		return 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)), 0);
	while (sent < messages && send(pair[0], text, sizeof(text), MSG_DONTWAIT) > 0)
		sent++;
	unread_keep(&unread, pod_uid, pair[0]);
	sidecars[n_sidecars++] = pair[1];
	return sent * MESSAGE;
}

static int sidecars_end(void **state)
{
	(void)state;
	while (n_sidecars > 0)
		close(sidecars[--n_sidecars]);
	unread_release(&unread);
	return 0;
}

static const char *pod_uid(unsigned int number)
{
	static char uid[POD_UID_MAX + 1];

	snprintf(uid, sizeof(uid), "94eb36cd-29e1-478b-b365-%012u", number);
	return uid;
}

static void however_many_pods_read_nothing_each_has_room_and_all_is_bounded(void **state)
{
	size_t held = 0;

	(void)state;
	for (unsigned int round = 0; round < 20; round++)
		for (unsigned int pod = 0; pod < 100; pod++)
			held += flood(pod_uid(pod), SIZE_MAX);
	assert_true(held < 2 * UNREAD_BYTES_MAX);
	assert_true(flood(pod_uid(1000), SIZE_MAX) > UNREAD_BYTES_MIN / 4);
}

static void connections_of_a_few_bytes_are_bounded_and_leave_some_for_all(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 20; round++)
		for (unsigned int pod = 0; pod < 100; pod++)
			flood(pod_uid(pod), 1);
	assert_true(unread.n < UNREAD_LINKS_MAX);
	assert_true(flood(pod_uid(1000), 1) > 0);
}

static void connections_without_a_message_are_bounded_until_the_listener_closes_them(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 100; i++)
		flood(pod_uid(1), 0);
	assert_int_equal(n_sidecars, UNREAD_LINKS_OF_POD);
	while (n_sidecars > 0)
		close(sidecars[--n_sidecars]);
	assert_true(unread_room(&unread, pod_uid(1)) > UNREAD_BYTES_MIN);
}

static void a_sidecar_that_reads_or_ends_has_room_again(void **state)
{
	char text[MESSAGE];

	(void)state;
	for (int i = 0; i < 2; i++) {
		while (flood(pod_uid(1), 10))
			;
		assert_int_equal(unread.n, UNREAD_LINKS_OF_POD);
		/* Their end has come, too, and a sidecar closes its own then. */
		for (size_t at = 0; i == 0 && at < n_sidecars; at++)
			while (recv(sidecars[at], text, sizeof(text), 0) > 0)
				;
		assert_int_equal(unread_room(&unread, pod_uid(1)), 0);
		while (n_sidecars > 0)
			close(sidecars[--n_sidecars]);
		assert_true(unread_room(&unread, pod_uid(1)) > UNREAD_BYTES_MIN);
		assert_int_equal(unread.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(however_many_pods_read_nothing_each_has_room_and_all_is_bounded, sidecars_end),
		cmocka_unit_test_teardown(connections_of_a_few_bytes_are_bounded_and_leave_some_for_all, sidecars_end),
		cmocka_unit_test_teardown(
			connections_without_a_message_are_bounded_until_the_listener_closes_them,
			sidecars_end),
		cmocka_unit_test_teardown(a_sidecar_that_reads_or_ends_has_room_again, sidecars_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
