/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/core_file_test.XXXXXX";
static int dir_fd;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(dir_fd, "core", 0);
	close(dir_fd);
	return rmdir(directory);
}

static int open_found(enum core_found found)
{
	struct core_key key;

	return core_file_open(dir_fd, "core", found, &key);
}

/* Processes that die in one directory may dump to the same file, one after another. */
static void a_core_that_another_process_writes_anew_is_not_complete(void **state)
{
	const Elf64_Ehdr head = { .e_ident = ELFMAG "\2\1\1", .e_type = ET_CORE };
	int fd, writer = openat(dir_fd, "core", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)state;

	assert_int_equal(write(writer, &head, sizeof(head)), sizeof(head));
	for (int found = CORE_CLOSED; found <= CORE_FOUND_AT_END; found++)
		assert_int_equal(open_found((enum core_found)found), -EAGAIN);
	close(writer);
	for (int found = CORE_CLOSED; found <= CORE_FOUND_AT_END; found++) {
		fd = open_found((enum core_found)found);
		assert_true(fd >= 0);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_core_that_another_process_writes_anew_is_not_complete, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
