/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the man pages. */
#include "plugin/man.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/macros.h"
#include "plugin/testing.h"

/*
 * Returns whether this is a request that the pages use. Roff would swallow any other text that
 * starts like one.
 */
static bool is_request(const char *line)
{
	static const char *const requests[] = { ".TH ", ".SH ", ".TP\n", ".B ", ".BR ", ".\\\" " };

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		if (strncmp(line, requests[i], strlen(requests[i])) == 0)
			return true;
	return false;
}

static void each_command_has_a_page_with_all_of_its_options(void **state)
{
	(void)state;

	for (enum command c = COMMAND_NONE; c < COMMAND_COUNT; c++) {
		_cleanup_strbuf_ struct strbuf page = STRBUF_INIT(1 << 16);
		size_t options = 0, terms = 0;

		man_page(c, &page);
		for (const char *at = strstr(commands[c].help, "\n  "); at; at = strstr(at + 1, "\n  "))
			options++;
		for (const char *at = strstr(strbuf_str(&page), "\n.TP\n"); at; at = strstr(at + 1, "\n.TP\n"))
			terms++;
		/*
		 * There is one more term for the environment, and the program's own page has one
		 * for each command.
		 */
		assert_int_equal(terms, options + 1 + (c == COMMAND_NONE ? COMMAND_COUNT - 1 : 0));
		for (const char *line = strbuf_str(&page); *line; line += strcspn(line, "\n") + 1)
			if ((*line == '.' || *line == '\'') && !is_request(line))
				fail_msg("roff does not know %s", line);
	}
}

static void a_page_reads_as_man_pages_do(void **state)
{
	_cleanup_strbuf_ struct strbuf show = STRBUF_INIT(1 << 16), whole = STRBUF_INIT(1 << 16);
	(void)state;

	man_page(COMMAND_SHOW, &show);
	has(&show, ".TH kubectl\\-afterglow\\-show 1 \"\" \"afterglow " AFTERGLOW_VERSION "\"");
	has(&show, ".SH NAME\nkubectl\\-afterglow\\-show \\- show one failure with its evidence");
	has(&show, ".SH SYNOPSIS\n.B kubectl afterglow show NAME [OPTION...]\n.SH DESCRIPTION\nPrints one failure");
	has(&show, ".SH OPTIONS\n.TP\n.B \\-o, \\-\\-output FORMAT\njson or yaml: the RayFailure itself; json with \\-\\-store: report.json\n");
	has(&show, ".BR kubectl\\-afterglow (1)");
	man_page(COMMAND_NONE, &whole);
	has(&whole, ".SH COMMANDS\n.TP\n.B list \n");
	has(&whole, ".BR kubectl\\-afterglow\\-doctor (1)\n");
}

static void all_pages_are_written_into_a_directory(void **state)
{
	char place[] = "/tmp/man_test.XXXXXX";
	struct err err = { 0 };
	(void)state;

	assert_non_null(mkdtemp(place));
	assert_int_equal(man_write(place, &err), 0);
	int dir_fd = open(place, O_RDONLY | O_DIRECTORY);
	assert_int_equal(faccessat(dir_fd, "kubectl-afterglow.1", R_OK, 0), 0);
	assert_int_equal(faccessat(dir_fd, "kubectl-afterglow-top.1", R_OK, 0), 0);
	close(dir_fd);
	assert_true(tree_remove(AT_FDCWD, place));
	assert_int_equal(man_write(place, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_has_a_page_with_all_of_its_options),
		cmocka_unit_test(a_page_reads_as_man_pages_do),
		cmocka_unit_test(all_pages_are_written_into_a_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
