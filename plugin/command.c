/* SPDX-License-Identifier: Apache-2.0 */
/* Finds commands, and makes what --help prints. */
#include "plugin/command.h"

#include <string.h>

const struct command_info commands[COMMAND_COUNT] = {
	[COMMAND_NONE] = { "", 0, 0, "COMMAND [ARGUMENT]",
			   "list and explain the failures of Ray clusters",
			   "usage: kubectl afterglow COMMAND [ARGUMENT] [OPTION...]\n"
			   "Lists and explains the failures of Ray clusters. kubectl itself is run to reach the cluster.\n" },
#define COMMAND(id, name, least, most, arguments, summary, run, help) \
	[COMMAND_##id] = { name, least, most, arguments, summary, help },
#include "plugin/commands.def"
#undef COMMAND
};

enum command command_find(const char *name)
{
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		if (strcmp(commands[c].name, name) == 0)
			return c;
	return COMMAND_NONE;
}

#define SUMMARY_COLUMN 27

void command_add_help(enum command command, struct strbuf *out)
{
	strbuf_adds(out, commands[command].help);
	if (command == COMMAND_NONE) {
		/* The program's help is made here, because the commands come from the table. */
		strbuf_adds(out, "\n");
		for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
			strbuf_addf(out, "  %s %-*s%s\n", commands[c].name,
				    SUMMARY_COLUMN - 1 - (int)strlen(commands[c].name),
				    commands[c].arguments, commands[c].summary);
		strbuf_adds(out, "\n`kubectl afterglow COMMAND --help` says more.\n");
	}
}

void command_add_names(struct strbuf *out)
{
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		strbuf_addf(out, "%s%s",
			    c == COMMAND_NONE + 1  ? "" :
			    c == COMMAND_COUNT - 1 ? " and " :
						     ", ",
			    commands[c].name);
}
