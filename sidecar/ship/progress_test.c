/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the lines of progress. */
#include "sidecar/ship/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* The container names the files of its logs, and a bundle may have passed through a store since. */
static void the_name_of_a_file_drives_no_terminal(void **state)
{
	const int saved[] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	struct progress p = { .terminal = true };
	char text[1024] = "";
	int fd = memfd_create("progress", MFD_CLOEXEC);
	(void)state;

	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	progress_begin(&p, "logs/a\xc2\x9b" "2J\xe2\x80\xae.out", 1);
	progress_end(&p);
	dup2(saved[0], STDOUT_FILENO);
	dup2(saved[1], STDERR_FILENO);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "\"logs/a??2J???.out\""));
	assert_non_null(strstr(text, "Klogs/a??2J???.out: 1"));
	assert_null(strstr(text, "\xc2\x9b"));
	for (size_t i = 0; i < 2; i++)
		close(saved[i]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		the_name_of_a_file_drives_no_terminal) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
