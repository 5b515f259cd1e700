/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the table of commands. */
#include "plugin/command.h"

#include "plugin/testing.h"

static void each_command_has_a_help_that_says_how_it_is_called(void **state)
{
	(void)state;

	for (enum command c = COMMAND_NONE; c < COMMAND_COUNT; c++) {
		_cleanup_strbuf_ struct strbuf usage = STRBUF_INIT(256),
					       help = STRBUF_INIT(1 << 16);
		const struct command_info *info = &commands[c];

		assert_in_range(info->most, info->least, COMMAND_ARGUMENTS_MAX);
		strbuf_addf(&usage, "usage: kubectl afterglow %s%s%s", info->name,
			    *info->name && *info->arguments ? " " : "", info->arguments);
		command_add_help(c, &help);
		assert_ptr_equal(strstr(info->help, strbuf_str(&usage)), info->help);
		assert_int_equal(strbuf_str(&help)[help.len - 1], '\n');
		for (const char *line = strbuf_str(&help); *line; line += strcspn(line, "\n") + 1)
			if (strcspn(line, "\n") > 110)
				fail_msg("a line is longer than 110 columns: %s", line);
	}
}

static void the_programs_help_has_a_line_for_each_command(void **state)
{
	_cleanup_strbuf_ struct strbuf help = STRBUF_INIT(1 << 16);
	(void)state;

	command_add_help(COMMAND_NONE, &help);
	has(&help, "\n  show NAME                  show one failure with its evidence");
	has(&help, "\n  doctor                     show what this cluster");
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++) {
		char line[160];

		/* A blank is between a command's arguments and what it does. */
		snprintf(line, sizeof(line), "  %s", commands[c].summary);
		has(&help, line);
	}
}

static void a_command_is_found_by_its_whole_name(void **state)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(512);
	(void)state;

	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		assert_int_equal(command_find(commands[c].name), c);
	assert_int_equal(command_find("lis"), COMMAND_NONE);
	assert_int_equal(command_find("listing"), COMMAND_NONE);
	assert_int_equal(command_find(""), COMMAND_NONE);
	command_add_names(&names);
	has(&names, "list, show, ");
	has(&names, " and doctor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_command_has_a_help_that_says_how_it_is_called),
		cmocka_unit_test(the_programs_help_has_a_line_for_each_command),
		cmocka_unit_test(a_command_is_found_by_its_whole_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
