/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of kubectl afterglow with their arguments and help, in one table (commands.def). The
 * parser and the completion are made from it, and the man pages from what --help prints.
 */
#pragma once

#include "lib/strbuf.h"

/* In the order in which --help lists them. */
enum command {
	COMMAND_NONE, /* the program itself */
#define COMMAND(id, name, least, most, arguments, summary, run, help) COMMAND_##id,
#include "plugin/commands.def"
#undef COMMAND
	COMMAND_COUNT,
};

#define COMMAND_ARGUMENTS_MAX 2

struct command_info {
	const char *name; /* "" for the program */
	int least, most; /* the number of arguments, at most COMMAND_ARGUMENTS_MAX */
	const char *arguments; /* their names, as the help has them: "NAME DIR" */
	const char *summary; /* what the command does, in a line that begins with a verb */
	/* usage, description, a blank line, options; ends with a line break */
	const char *help;
};

/* Indexed by enum command. */
extern const struct command_info commands[COMMAND_COUNT];

/* Returns the command of that name, or COMMAND_NONE if there is none. */
enum command command_find(const char *name);

/* Appends what --help prints. */
void command_add_help(enum command command, struct strbuf *out);

/* Appends "list, show, ... and doctor". */
void command_add_names(struct strbuf *out);
