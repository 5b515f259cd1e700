/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of a core that comes as a stream. A script takes the place of afterglow-pack.
 */
#include "sidecar/crash/core_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/loop/child.h"
#include "lib/macros.h"
#include "lib/units.h"

/* One process, as afterglow-pack is: a child of its own would read on when it is killed. */
static const char script[] = "#!/bin/sh\nread -r core <&3\n[ \"$core\" = bad ] && exit 1\n"
			     "printf %s \"$core\" >&4\nprintf '{\"leftOut\":4096}'\n";
static char program[PATH_MAX];
static struct event_base *base;
static int received = -1;
static bool useless;
static int64_t received_left_out;

static void on_done(int file, int64_t left_out, const char *why, void *arg)
{
	(void)arg;
	useless = why;
	received = file;
	received_left_out = left_out;
	event_base_loopbreak(base);
}

/* The reading end of the pipe is closed here, as the caller does. */
static int start(struct core_stream **ret_stream, int *ret_writes)
{
	uint64_t room = 0;
	int ends[2], file = core_stream_open("/tmp", &room, NULL), rc;

	assert_true(file >= 0);
	assert_true(room > 0);
	assert_int_equal(pipe(ends), 0);
	rc = core_stream_start(base, file, room, ends[0], on_done, NULL, ret_stream, NULL);
	close(ends[0]);
	*ret_writes = ends[1];
	return rc;
}

static void what_comes_is_in_the_file(void **state)
{
	struct core_stream *s;
	char text[8] = "";
	int writes;
	(void)state;

	assert_int_equal(start(&s, &writes), 0);
	assert_int_equal(write(writes, "core", 4), 4);
	close(writes);
	event_base_dispatch(base);
	assert_true(received >= 0);
	assert_int_equal(pread(received, text, sizeof(text), 0), 4);
	assert_string_equal(text, "core");
	assert_int_equal(received_left_out, 4096);
	closep(&received);
}

/* Its disk may be dead by now, so the event loop must not be the one that closes it. */
static void a_file_that_is_of_no_use_is_closed_by_the_caller(void **state)
{
	struct core_stream *s;
	int writes;
	(void)state;

	received = -1;
	assert_int_equal(start(&s, &writes), 0);
	assert_int_equal(write(writes, "bad", 3), 3);
	close(writes);
	event_base_dispatch(base);
	assert_true(useless);
	assert_true(received >= 0);
	closep(&received);
}

static void a_directory_that_is_not_there_is_named(void **state)
{
	struct err err = { 0 };
	uint64_t room;
	(void)state;

	assert_int_equal(core_stream_open("/nowhere", &room, &err), -ENOENT);
	assert_non_null(strstr(err_text(&err), "/nowhere"));
}

static void a_stream_that_is_cancelled_ends_the_dump(void **state)
{
	struct core_stream *s;
	int writes;
	(void)state;

	assert_int_equal(start(&s, &writes), 0);
	received = core_stream_cancel(s);
	assert_true(received >= 0);
	closep(&received);
	for (int i = 0; i < 6000 && write(writes, "core", 4) == 4; i++)
		usleep(10000);
	assert_int_equal(write(writes, "core", 4), -1);
	assert_int_equal(errno, EPIPE);
	close(writes);
}

static int setup(void **state)
{
	char *slash;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	(void)state;

	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	slash = n > 0 ? strrchr(program, '/') : NULL;
	if (!base || !slash)
		return -1;
	snprintf(slash, sizeof(program) - (size_t)(slash - program), "/afterglow-pack");
	return file_put(AT_FDCWD, program, script, strlen(script), 0700, NULL);
}

static int teardown(void **state)
{
	(void)state;
	event_base_free(base);
	return unlink(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_is_in_the_file),
		cmocka_unit_test(a_file_that_is_of_no_use_is_closed_by_the_caller),
		cmocka_unit_test(a_directory_that_is_not_there_is_named),
		cmocka_unit_test(a_stream_that_is_cancelled_ends_the_dump),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
