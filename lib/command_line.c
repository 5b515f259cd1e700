/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options by a table, and prints the table. */
#include "lib/command_line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

static const char *const truths[] = { "false", "true", NULL };

/* --- Values --- */

static int choice_parse(const struct option_row *row, const char *text, int *ret_choice,
			struct err *err)
{
	const char *const *choices = row->kind == OPTION_BOOL ? truths : row->choices;
	char all[160] = "";
	size_t len = 0;

	for (int i = 0; choices[i]; i++) {
		if (strcmp(text, choices[i]) == 0) {
			*ret_choice = i;
			return 0;
		}
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
					i == 0	       ? "" :
					choices[i + 1] ? ", " :
							 " or ",
					choices[i]);
	}
	return err_set(err, EINVAL, "%s takes %s, not %.100s", row->name, all, text);
}

static int whole_parse(const struct option_row *row, const char *text, int64_t *ret_number,
		       struct err *err)
{
	char *end;

	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (errno || end == text || *end || number < row->min || number > row->max)
		return err_set(err, EINVAL, "%s takes a whole number from %lld to %lld, not %.100s",
			       row->name, (long long)row->min, (long long)row->max, text);
	*ret_number = number;
	return 0;
}

static int size_parse(const struct option_row *row, const char *text, int64_t *ret_size,
		      struct err *err)
{
	int64_t size;

	if (quantity_parse(text, &size, NULL) < 0)
		return err_set(err, EINVAL, "%s takes a size such as 512Mi or 2G, not %.100s",
			       row->name, text);
	if (size < row->min || (row->max && size > row->max))
		return err_set(err, EINVAL, "%s takes at least %s%s%s, not %.100s", row->name,
			       SIZE_TEXT(row->min), row->max ? " and at most " : "",
			       row->max ? SIZE_TEXT(row->max) : "", text);
	*ret_size = size;
	return 0;
}

static int real_parse(const struct option_row *row, const char *text, double scale,
		      double *ret_value, struct err *err)
{
	double min = (double)row->min / scale, max = (double)row->max / scale, value;
	char *end;

	value = strtod(text, &end);
	if (end == text || *end || !(value >= min && value <= max))
		return err_set(err, EINVAL, "%s takes a number from %g to %g, not %.100s",
			       row->name, min, max, text);
	*ret_value = value;
	return 0;
}

static int choice_store(const struct option_row *row, const char *text, void *at, struct err *err)
{
	int choice = 0;

	if (choice_parse(row, text, &choice, err) < 0)
		return -EINVAL;
	if (row->kind == OPTION_CHOICE)
		*(int *)at = choice;
	else
		*(bool *)at = choice == 1;
	return 0;
}

static int number_store(const struct option_row *row, const char *text, void *at, struct err *err)
{
	double real = 0;
	int64_t number = 0;
	int narrow, r;

	if (row->kind == OPTION_SIZE)
		r = size_parse(row, text, &number, err);
	else if (row->kind == OPTION_DAYS || row->kind == OPTION_FRACTION)
		r = real_parse(row, text, row->kind == OPTION_DAYS ? 1 : 1000, &real, err);
	else
		r = whole_parse(row, text, &number, err);
	if (r < 0)
		return r;
	if (row->kind == OPTION_DAYS)
		number = (int64_t)(real * 86400) * NS_PER_SEC;
	narrow = (int)number;
	if (row->kind == OPTION_FRACTION)
		memcpy(at, &real, sizeof(real));
	else if (row->kind == OPTION_INT)
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &number, sizeof(number));
	return 0;
}

static int value_store(const struct option_row *row, const char *text, void *options,
		       struct err *err)
{
	void *at = (char *)options + row->at;

	if (!*text && row->kind != OPTION_GIVEN && row->kind != OPTION_ANY)
		return err_set(err, EINVAL, "%s takes a value", row->name);
	switch (row->kind) {
	case OPTION_FLAG:
		return err_set(err, EINVAL, "%s takes no value", row->name);
	case OPTION_BOOL:
	case OPTION_EITHER:
	case OPTION_CHOICE:
		return choice_store(row, text, at, err);
	case OPTION_PATH:
		if (*text != '/')
			return err_set(err, EINVAL, "%s takes an absolute path, not %.100s",
				       row->name, text);
		__attribute__((fallthrough));
	case OPTION_TEXT:
	case OPTION_GIVEN:
	case OPTION_ANY:
		*(const char **)at = *text || row->kind == OPTION_ANY ? text : NULL;
		return 0;
	case OPTION_OTHER:
		return row->parse(options, row->name, text, err);
	default:
		return number_store(row, text, at, err);
	}
}

/* --- Words --- */

static bool row_belongs_to(const struct option_row *row, unsigned command)
{
	return !row->only || (row->only & command);
}

static const struct option_row *row_find(const struct option_table *table, unsigned command,
					 const char *word, size_t len)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct option_row *row = &table->rows[i];

		if (!row->name || !row_belongs_to(row, command))
			continue;
		if (strlen(row->name) == len && memcmp(word, row->name, len) == 0)
			return row;
		if (row->letter && word[1] == row->letter && !word[2])
			return row;
	}
	return NULL;
}

int option_take(const struct option_table *table, unsigned command, char *const *words,
		void *options, struct err *err)
{
	size_t len = strcspn(words[0], "=");
	const char *value = words[0][len] ? words[0] + len + 1 : NULL;
	const struct option_row *row = row_find(table, command, words[0], len);

	if (!row)
		return err_set(err, EINVAL, "unknown option %.*s (see --help)",
			       (int)MIN(len, (size_t)80), words[0]);
	if (!value && (row->kind == OPTION_FLAG || row->kind == OPTION_BOOL)) {
		*(bool *)((char *)options + row->at) = true;
		return 1;
	}
	if (!value && !words[1])
		return err_set(err, EINVAL, "%s takes a value", row->name);
	if (value_store(row, value ? value : words[1], options, err) < 0)
		return -EINVAL;
	return value ? 1 : 2;
}

int options_take(const struct option_table *table, unsigned command, char *const *words,
		 void *options, struct err *err)
{
	int n = 0;

	while (words[n] && words[n][0] == '-' && strcmp(words[n], "--") != 0) {
		int r = option_take(table, command, words + n, options, err);

		if (r < 0)
			return r;
		n += r;
	}
	return words[n] && strcmp(words[n], "--") == 0 ? n + 1 : n;
}

/* --- Help --- */

/* How far a name may reach into the column of the texts before its text begins on the next line. */
#define OVERLAP 4

/* Prints the text in its column; so many columns of its first line are taken. */
static void help_print(const char *text, size_t column, size_t taken)
{
	if (*text && taken > column + OVERLAP) {
		putchar('\n');
		taken = 0;
	}
	if (*text)
		printf("%*s", taken + 1 < column ? (int)(column - taken) : 2, "");
	for (; *text; text++) {
		putchar(*text);
		if (*text == '\n')
			printf("%*s", (int)column, "");
	}
	putchar('\n');
}

int options_print_help(const struct option_table *table, unsigned command)
{
	size_t taken = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct option_row *row = &table->rows[i];

		if (!row_belongs_to(row, command))
			continue;
		if (!row->name) {
			fputs(row->help, stdout);
			continue;
		}
		taken += (size_t)printf("%s%s%s%s", taken ? ", " : "  ", row->name,
					row->value ? " " : "",
					row->value		 ? row->value :
					row->kind == OPTION_BOOL ? "[=BOOL]" :
								   "");
		if (!row->help)
			continue;
		help_print(row->help, table->column, taken);
		taken = 0;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
