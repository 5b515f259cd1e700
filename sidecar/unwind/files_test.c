/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of getting files from another process: which files it hands out, and what happens if it
 * does not answer.
 */
#include "sidecar/unwind/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

static char directory[] = "/tmp/unwind_files_test.XXXXXX";

static int in_world(const char *name, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return open(path, flags | O_CLOEXEC, 0600);
}

static void put(const char *name, const char *head, off_t size)
{
	_cleanup_close_ int fd = in_world(name, O_WRONLY | O_CREAT);

	assert_int_equal(write(fd, head, strlen(head)), strlen(head));
	assert_int_equal(ftruncate(fd, size), 0);
}

static int make_world(void **state)
{
	char path[96];
	(void)state;

	assert_non_null(mkdtemp(directory));
	put("program", "\177ELF", 4096);
	put("huge", "\177ELF", FILES_SIZE_MAX + 1);
	put("text", "password", 8);
	put("short", "\177E", 2);
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/link", directory);
	return symlink("/program", path);
}

static int remove_world(void **state)
{
	char command[96];
	(void)state;

	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

/* Starts another process that opens files. It ends with the socket. */
static void begin(struct files *files)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if (fork() == 0) {
		close(ends[0]);
		files_serve(open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), ends[1]);
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(files_begin(files, ends[0], NULL), 0);
}

static void end(const struct files *files)
{
	close(files->socket_fd);
	while (wait(NULL) > 0)
		;
}

static void only_programs_are_handed_out_and_refusals_have_a_reason(void **state)
{
	static const struct {
		const char *path, *why;
	} rows[] = {
		/* The parent of the root is the root. */
		{ "/program", NULL }, { "/link", NULL }, { "/../program", NULL },
		{ "/none", "no such file" }, { "/text", "no ELF file for this machine" }, { "/short", "no ELF file for this machine" },
		{ "/fifo", "not a regular file" }, { "/", "not a regular file" }, { "/huge", "too large" }, { "program", "not a regular file" },
	};
	struct files files;
	(void)state;

	begin(&files);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *why = "";
		_cleanup_close_ int fd = files_open(&files, rows[i].path, &why);

		assert_int_equal(fd < 0, rows[i].why != NULL);
		if (rows[i].why)
			assert_string_equal(why, rows[i].why);
		else
			assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	}
	end(&files);
}

static void one_asker_gets_so_many_and_no_more(void **state)
{
	const char *why;
	struct files files;
	(void)state;

	begin(&files);
	for (int i = 0; i < FILES_MAX; i++) {
		_cleanup_close_ int fd = files_open(&files, "/program", &why);

		assert_true(fd >= 0);
	}
	assert_int_equal(files_open(&files, "/program", &why), -1);
	assert_string_equal(why, "too many modules");
	end(&files);
}

static void a_filesystem_that_does_not_answer_is_asked_once(void **state)
{
	const struct timeval soon = { .tv_usec = 50000 };
	struct files files;
	const char *why;
	char path[64];
	int ends[2];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(files_begin(&files, ends[0], NULL), 0);
	assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)), 0);
	assert_int_equal(files_open(&files, "/lib/a", &why), -1);
	assert_string_equal(why, "its filesystem does not answer");
	/* Its late answer would be taken for the answer to the next question. */
	assert_int_equal(files_open(&files, "/lib/b", &why), -1);
	assert_string_equal(why, "an earlier file was not opened in time");
	assert_int_equal(recv(ends[1], path, sizeof(path), MSG_DONTWAIT), sizeof("/lib/a"));
	assert_int_equal(recv(ends[1], path, sizeof(path), MSG_DONTWAIT), -1);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_programs_are_handed_out_and_refusals_have_a_reason),
		cmocka_unit_test(one_asker_gets_so_many_and_no_more),
		cmocka_unit_test(a_filesystem_that_does_not_answer_is_asked_once),
	};

	return cmocka_run_group_tests_name("files", tests, make_world, remove_world);
}
