/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of kubectl afterglow: one table with their arguments and help. Parser, completion and man pages are made from it. */
#ifndef AFTERGLOW_PLUGIN_COMMAND_H
#define AFTERGLOW_PLUGIN_COMMAND_H

#include "lib/strbuf.h"

/* In the order in which a person meets them. */
enum command {
	COMMAND_NONE, /* the program itself */
	COMMAND_LIST,
	COMMAND_SHOW,
	COMMAND_REPORT,
	COMMAND_INCIDENTS,
	COMMAND_EXPLAIN,
	COMMAND_TOP,
	COMMAND_SNAPSHOT,
	COMMAND_BUNDLE,
	COMMAND_PAGE,
	COMMAND_RELEASE,
	COMMAND_POLICY,
	COMMAND_DOCTOR,
	COMMAND_COUNT,
};

#define COMMAND_ARGUMENTS_MAX 2

struct command_info {
	const char *name;      /* "" for the program */
	int least, most;       /* of arguments, at most COMMAND_ARGUMENTS_MAX */
	const char *arguments; /* which they are, as the help has them: "NAME DIR" */
	const char *summary;   /* what it does, in a line that begins with a verb */
	const char *help;      /* usage, description, a blank line, options; ends with a line break */
};

/* By enum command. */
extern const struct command_info commands[COMMAND_COUNT];

/* The command of that name; COMMAND_NONE: there is none. */
enum command command_find(const char *name);

/* What --help prints. */
void command_add_help(enum command command, struct strbuf *out);

/* Appends "list, show, ... and doctor". */
void command_add_names(struct strbuf *out);

#endif
