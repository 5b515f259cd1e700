/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the sidecar's end of the socket: which messages are accepted, and that no descriptor is
 * left open.
 */
#include "sidecar/socket/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define NAME63 "a23456789b123456789c123456789d123456789e123456789f123456789g123"

static const struct {
	const char *text;
	int r; /* 0 or -EPROTO */
	enum launch_verb verb;
	const char *letters, *name;
	int launcher, wait_status; /* for `unstarted` the errno, and whether the file exists */
} rows[] = {
	{ "hello 1 rtp ray-worker 1 7 123456789", 0, LAUNCH_HELLO, "rtp", "ray-worker", 1, 0 },
	{ "hello 1 - main 1 7 1", 0, LAUNCH_HELLO, "", "main", 1, 0 },
	{ "hello 1 p a.b_c 40 7 9223372036854775807", 0, LAUNCH_HELLO, "p", "a.b_c", 40, 0 },
	{ "hello 1 rrr main 1 7 1", 0, LAUNCH_HELLO, "rrr", "main", 1, 0 },
	{ "hello 1 r " NAME63 " 1 7 1", 0, LAUNCH_HELLO, "r", NAME63, 1, 0 },
	{ "hello 1 r " NAME63 "x 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 2 rtp main 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 rtpr main 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 rtpxxxxxxxxx main 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 x main 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r ../../etc 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r .. 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r a/b 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r a%sb 1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 0 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main -1 7 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 0 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 7 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 7 -5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 7", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 7 1 more", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello 1 r main 1 7 1\n", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello ", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hello", 0, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "hellofromme", 0, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit 256 1", 0, LAUNCH_EXIT, NULL, NULL, 0, 256 },
	{ "exit 9 1", 0, LAUNCH_EXIT, NULL, NULL, 0, 9 },
	{ "exit 139 1", 0, LAUNCH_EXIT, NULL, NULL, 0, 139 }, /* SIGSEGV, core dumped */
	{ "exit 65280 1", 0, LAUNCH_EXIT, NULL, NULL, 0, 65280 },
	{ "exit 64 1", 0, LAUNCH_EXIT, NULL, NULL, 0, 64 },
	{ "exit 65 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 }, /* no such signal */
	{ "exit 4991 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 }, /* stopped */
	{ "exit 65535 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 }, /* continued */
	{ "exit 65536 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit -1 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit 0 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit 0 1 2", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "exit x y", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted 2 0 /no/such/command", 0, LAUNCH_UNSTARTED, NULL, "/no/such/command", 2, 0 },
	{ "unstarted 2 1 x", 0, LAUNCH_UNSTARTED, NULL, "x", 2, 1 },
	{ "unstarted 13 1 a b\n\033[31mc", 0, LAUNCH_UNSTARTED, NULL, "a b??[31mc", 13, 1 },
	{ "unstarted 2 0  x", 0, LAUNCH_UNSTARTED, NULL, " x", 2, 0 },
	{ "unstarted 2 0 ", 0, LAUNCH_UNSTARTED, NULL, "", 2, 0 },
	{ "unstarted 4095 0 x", 0, LAUNCH_UNSTARTED, NULL, "x", 4095, 0 },
	{ "unstarted 4096 0 x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted 0 0 x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted -2 0 x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted 2 2 x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted 2 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unstarted 2 x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ran 1 77", 0, LAUNCH_RAN, NULL, NULL, 0, 0 },
	{ "ran 1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ran x 77", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "finished 1 768 0", 0, LAUNCH_FINISHED, NULL, NULL, 0, 768 },
	{ "finished 1 9 1", 0, LAUNCH_FINISHED, NULL, NULL, 0, 9 },
	{ "finished 1 9 2", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "finished 1 9", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "finished 1 65 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "finished 1 65536 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "finished -2 0 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "refused -1 22", 0, LAUNCH_REFUSED, NULL, NULL, 0, 0 },
	{ "refused 1 -22", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "refused 1 22 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "asked 15 0 5", 0, LAUNCH_ASKED, NULL, NULL, 0, 0 },
	{ "asked 2 706 5", 0, LAUNCH_ASKED, NULL, NULL, 0, 0 },
	{ "asked 9 0 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "asked 15 -1 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "asked 15 0 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "asked 15 0 5 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "asked 15 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 9 5", 0, LAUNCH_ENDED, NULL, NULL, 0, 9 },
	{ "ended 706 256 5", 0, LAUNCH_ENDED, NULL, NULL, 0, 256 },
	{ "ended 706 - 5", 0, LAUNCH_ENDED, NULL, NULL, 0, 0 },
	{ "ended 706 9", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 9 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 0 9 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 65 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 65536 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 9x 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 -1 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "ended 706 99999999999999999 5", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unwatched 706 38", 0, LAUNCH_UNWATCHED, NULL, NULL, 0, 0 },
	{ "unwatched 0 38", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "unwatched 706 -38", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "dumped 7 0", 0, LAUNCH_DUMPED, NULL, NULL, 0, 0 },
	{ "dumped 7 -1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "dumped 7", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "dumped 7 0 0", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "", 0, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core 0 0 0 -", 0, LAUNCH_CORE, NULL, NULL, 0, 0 },
	{ "core 12 13 11 python3", 0, LAUNCH_CORE, NULL, NULL, 0, 0 },
	{ "core 12 13 11", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core 12 13 11 a b", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core -1 13 11 -", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core 12 13 65 -", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core 12 13 11 " NAME63 "x", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "core /tmp/core.1", -EPROTO, LAUNCH_OTHER, NULL, NULL, 0, 0 },
	{ "something /tmp/x", 0, LAUNCH_OTHER, NULL, NULL, 0, 0 }, /* from a newer launcher */
};

static void only_a_wellformed_message_of_a_known_verb_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].text);
		_cleanup_free_ char *text = malloc(len ? len : 1);
		struct launch_message m = { .verb = 99 };
		struct err err = { 0 };

		memcpy(text, rows[i].text, len);
		if (launch_message_parse(text, len, &m, &err) != rows[i].r)
			fail_msg("%s: %s", rows[i].text, err_text(&err));
		if (rows[i].r < 0) {
			assert_int_equal(m.verb, 99);
			assert_int_equal(err.code, EPROTO);
			continue;
		}
		assert_int_equal(m.verb, rows[i].verb);
		if (m.verb == LAUNCH_HELLO) {
			assert_string_equal(m.fd_letters, rows[i].letters);
			assert_string_equal(m.name, rows[i].name);
			assert_int_equal(m.launcher, rows[i].launcher);
			assert_int_equal(m.command, 7);
		} else if (m.verb == LAUNCH_UNSTARTED) {
			assert_string_equal(m.unstarted.command, rows[i].name);
			assert_int_equal(m.unstarted.error, rows[i].launcher);
			assert_int_equal(m.unstarted.there, rows[i].wait_status);
		} else if (m.verb == LAUNCH_ENDED || m.verb == LAUNCH_UNWATCHED)
			assert_int_equal(m.process, 706);
		if (m.verb == LAUNCH_EXIT || m.verb == LAUNCH_FINISHED || m.verb == LAUNCH_ENDED)
			assert_int_equal(m.wait_status, rows[i].wait_status);
	}
}

static void long_messages_and_nuls_are_of_no_known_verb(void **state)
{
	char text[LAUNCH_MESSAGE_MAX];
	struct launch_message m;
	(void)state;

	memset(text, ' ', sizeof(text));
	memcpy(text, "exit 0 1", 8);
	for (size_t len = 9; len <= sizeof(text); len++) {
		int r = launch_message_parse(text, len, &m, NULL);

		assert_true(r == -EPROTO || m.verb == LAUNCH_OTHER);
	}
	assert_int_equal(launch_message_parse("exit 0 1\0", 9, &m, NULL), 0);
	assert_int_equal(m.verb, LAUNCH_OTHER);
}

static void a_name_is_what_may_stand_in_a_path(void **state)
{
	(void)state;
	assert_true(launch_name_valid("ray-worker"));
	assert_true(launch_name_valid("9"));
	assert_false(launch_name_valid(""));
	assert_false(launch_name_valid("-x"));
	assert_false(launch_name_valid("."));
	assert_false(launch_name_valid("a b"));
	assert_false(launch_name_valid("caf\xc3\xa9"));
	assert_false(launch_name_valid(NAME63 "x"));
}

/* --- Descriptors --- */

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 2048; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void send_with(int fd, const char *text, size_t len, size_t n_fds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)text, .iov_len = len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (n_fds) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &null, sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &message, 0), (ssize_t)len);
	close(null);
}

static void of_too_many_descriptors_none_is_left_behind(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 4, 5, 8, 16, 253 };
	int pair[2];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		char text[LAUNCH_MESSAGE_MAX];
		int fds[LAUNCH_FDS_MAX], before = open_descriptors();
		size_t len, n;

		send_with(pair[0], "hi", 2, counts[i]);
		assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
		assert_int_equal(len, 2);
		assert_int_equal(n, MIN(counts[i], (size_t)LAUNCH_FDS_MAX));
		for (size_t f = 0; f < n; f++) {
			assert_int_equal(fcntl(fds[f], F_GETFD), FD_CLOEXEC);
			close(fds[f]);
		}
		/* A child closes the descriptors that are too many. */
		for (int wait = 0; wait < 20000 && open_descriptors() != before; wait++)
			usleep(1000);
		assert_int_equal(open_descriptors(), before);
	}
	close(pair[0]);
	close(pair[1]);
}

static void a_message_may_fill_the_buffer_be_longer_or_be_nothing(void **state)
{
	static char big[LAUNCH_MESSAGE_MAX * 2];
	char text[LAUNCH_MESSAGE_MAX];
	int pair[2], fds[LAUNCH_FDS_MAX];
	size_t len, n;
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	memset(big, 'x', sizeof(big));
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), -EAGAIN);
	send_with(pair[0], big, LAUNCH_MESSAGE_MAX, 0);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(len, LAUNCH_MESSAGE_MAX);
	send_with(pair[0], big, sizeof(big), 0);
	send_with(pair[0], "next", 4, 0);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(len, LAUNCH_MESSAGE_MAX);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(len, 4);
	close(pair[0]);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 0);
	assert_int_equal(launch_send(pair[1], "done", NULL, NULL), -EPIPE);
	close(pair[1]);
}

/* The kernel then reports ECONNRESET before it gives out what was sent. */
static void the_last_words_of_a_launcher_that_left_orders_unread_are_heard(void **state)
{
	char text[LAUNCH_MESSAGE_MAX];
	int pair[2], fds[LAUNCH_FDS_MAX];
	size_t len, n;
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	send_with(pair[0], "exit 139 7", 10, 0);
	assert_int_equal(launch_send(pair[1], "say", "hello", NULL), 0);
	close(pair[0]);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(len, 10);
	assert_memory_equal(text, "exit 139 7", 10);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 0);
	close(pair[1]);
}

static void sending_never_blocks(void **state)
{
	static char big[LAUNCH_MESSAGE_MAX * 2];
	char text[LAUNCH_MESSAGE_MAX];
	int pair[2], fds[LAUNCH_FDS_MAX], r = 0;
	size_t len, n;
	(void)state;

	memset(big, 'x', sizeof(big) - 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(launch_send(pair[0], "say", big, NULL), 0);
	assert_int_equal(launch_receive(pair[1], text, &len, fds, &n, NULL), 1);
	assert_int_equal(len, LAUNCH_MESSAGE_MAX - 1);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = launch_send(pair[0], "say", big, NULL);
	assert_int_equal(r, -EAGAIN);
	close(pair[0]);
	close(pair[1]);
}

static void a_cgroup_is_of_version_1_or_2(void **state)
{
	static const char *const wrong[] = { "cgroup 0",  "cgroup 3",	"cgroup ",
					     "cgroup 11", "cgroup 1 2", "cgroup x" };
	struct launch_message m;
	(void)state;

	assert_int_equal(launch_message_parse("cgroup 2", 8, &m, NULL), 0);
	assert_int_equal(m.verb, LAUNCH_CGROUP);
	assert_int_equal(m.cgroup_version, 2);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(launch_message_parse(wrong[i], strlen(wrong[i]), &m, NULL),
				 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_is_of_version_1_or_2),
		cmocka_unit_test(only_a_wellformed_message_of_a_known_verb_counts),
		cmocka_unit_test(long_messages_and_nuls_are_of_no_known_verb),
		cmocka_unit_test(a_name_is_what_may_stand_in_a_path),
		cmocka_unit_test(of_too_many_descriptors_none_is_left_behind),
		cmocka_unit_test(a_message_may_fill_the_buffer_be_longer_or_be_nothing),
		cmocka_unit_test(the_last_words_of_a_launcher_that_left_orders_unread_are_heard),
		cmocka_unit_test(sending_never_blocks),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
