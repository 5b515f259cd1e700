/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a program: one table says what each is, where its value goes, and what --help
 * prints about it. An option is written "--name VALUE" or "--name=VALUE"; "--" ends the options.
 * Empty values are refused, unless the kind of the option accepts them. The values are not copied.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum option_kind {
	OPTION_FLAG, /* bool: has no value */
	OPTION_BOOL, /* bool: "--name", "--name=true" or "--name=false" */
	OPTION_EITHER, /* bool: choices[1] means true */
	OPTION_CHOICE, /* an enum: the place of the value in choices */
	OPTION_TEXT, /* const char * */
	OPTION_GIVEN, /* const char *: an empty value, which charts write for "not set", is NULL */
	OPTION_ANY, /* const char *: may be empty */
	OPTION_PATH, /* const char *: an absolute path */
	OPTION_INT, /* int or unsigned: a whole number from min to max */
	OPTION_COUNT, /* int64_t or size_t: a whole number from min to max */
	OPTION_SIZE, /* int64_t: a quantity of Kubernetes from min to max bytes; max 0: no bound */
	OPTION_DAYS, /* int64_t: min to max days, as nanoseconds */
	OPTION_FRACTION, /* double: min to max thousandths */
	OPTION_OTHER, /* parse() stores it */
};

struct option_row {
	const char *name; /* "--name"; NULL: help is printed as it is */
	const char *value; /* the value's name, for --help; NULL: none */
	enum option_kind kind;
	size_t at; /* the place of the value in the program's options */
	const char *help; /* lines of text; NULL: it shares that of the next row */
	int64_t min, max;
	const char *const *choices; /* NULL at the end */
	int (*parse)(void *options, const char *option, const char *value, struct err *err);
	char letter; /* "-n" is the same option; 0: none */
	unsigned only; /* bits of the commands that have this option; 0: all */
};

struct option_table {
	const struct option_row *rows;
	size_t n;
	unsigned column; /* in which --help begins the text of an option */
};
#define OPTION_TABLE(rows, column) { rows, ARRAY_SIZE(rows), column }

/*
 * Parses the option at words[0] into *options, which the program's rows describe. command has the
 * bit of the present command. Returns the number of words that it consists of, 1 or 2; or -EINVAL.
 */
int option_take(const struct option_table *table, unsigned command, char *const *words,
		void *options, struct err *err);
/*
 * Parses all options up to the first other word or a "--", which is skipped. Returns the number of
 * words up to there, or -EINVAL.
 */
int options_take(const struct option_table *table, unsigned command, char *const *words,
		 void *options, struct err *err);

/*
 * Prints --help of a command to stdout: the rows that it has. `command` is its bit, or those of
 * several. Returns 0, or 1 if the text could not be written.
 */
int options_print_help(const struct option_table *table, unsigned command);
