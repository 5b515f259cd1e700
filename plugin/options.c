/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line: one table of options, one of commands. */
#include "plugin/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/macros.h"
#include "lib/units.h"

#define NAMES_MAX 512

enum kind { FLAG, TEXT, AGE };

static const struct {
	const char *name;
	char letter;
	enum kind kind;
	size_t at;
} table[] = {
#define AT(member) offsetof(struct options, member)
	{ "--namespace", 'n', TEXT, AT(namespace) },
	{ "--all-namespaces", 'A', FLAG, AT(all_namespaces) },
	{ "--selector", 'l', TEXT, AT(selector) },
	{ "--output", 'o', TEXT, AT(output) },
	{ "--watch", 'w', FLAG, AT(watch) },
	{ "--help", 'h', FLAG, AT(help) },
	{ "--version", 0, FLAG, AT(version) },
	{ "--context", 0, TEXT, AT(context) },
	{ "--kubeconfig", 0, TEXT, AT(kubeconfig) },
	{ "--class", 0, TEXT, AT(class) },
	{ "--cluster", 0, TEXT, AT(cluster) },
	{ "--owner", 0, TEXT, AT(owner) },
	{ "--image", 0, TEXT, AT(image) },
	{ "--container", 'c', TEXT, AT(container) },
	{ "--since", 0, AGE, AT(since_ns) },
	{ "--by-signature", 0, FLAG, AT(by_signature) },
	{ "--no-open", 0, FLAG, AT(no_open) },
#undef AT
};

/* Parses "90s", "30m", "2h" or "7d" to nanoseconds. Returns 0 for anything else. */
static int64_t age_of(const char *text)
{
	static const struct {
		char unit;
		int64_t ns;
	} units[] = { { 's', NS_PER_SEC }, { 'm', 60 * NS_PER_SEC }, { 'h', 3600 * NS_PER_SEC }, { 'd', 86400 * NS_PER_SEC } };
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (n > 0 && n <= 36500 && end[0] == units[i].unit && !end[1])
			return n * units[i].ns;
	return 0;
}

static int set(struct options *o, size_t row, const char *value, struct err *err)
{
	char *member = (char *)o + table[row].at;

	switch (table[row].kind) {
	case FLAG:
		*(bool *)member = true;
		return 0;
	case TEXT:
		if (!*value)
			return err_set(err, EINVAL, "%s must not be empty", table[row].name);
		*(const char **)member = value;
		return 0;
	case AGE:
		*(int64_t *)member = age_of(value);
		if (!*(int64_t *)member)
			return err_set(err, EINVAL, "%s \"%.40s\" must be a time such as 90s, 30m, 2h or 7d (at most 36500 of a unit)",
				       table[row].name, value);
		return 0;
	}
	return err_set(err, EINVAL, "%s", table[row].name);
}

/*
 * Returns the row of an option as it is written, "--name", "--name=value" or "-x", or -1.
 * *ret_value is the text after '='.
 */
static int row_of(const char *arg, const char **ret_value)
{
	size_t len = strcspn(arg, "=");

	*ret_value = arg[len] ? arg + len + 1 : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strlen(table[i].name) == len && strncmp(table[i].name, arg, len) == 0)
			return (int)i;
		if (table[i].letter && arg[1] == table[i].letter && !arg[2])
			return (int)i;
	}
	return -1;
}

static int take_option(struct options *o, char **argv, int *at, struct err *err)
{
	const char *value;
	int row = row_of(argv[*at], &value);

	if (row < 0)
		return err_set(err, EINVAL, "%.80s is not an option; --help lists the options", argv[*at]);
	if (table[row].kind == FLAG && value)
		return err_set(err, EINVAL, "%s takes no value", table[row].name);
	if (table[row].kind != FLAG && !value)
		value = argv[*at + 1] ? argv[++*at] : NULL;
	if (table[row].kind != FLAG && !value)
		return err_set(err, EINVAL, "%s needs a value", table[row].name);
	return set(o, (size_t)row, value, err);
}

static int take_word(struct options *o, const char *word, struct err *err)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(NAMES_MAX);

	if (o->command == COMMAND_NONE) {
		o->command = command_find(word);
		command_add_names(&names);
		return o->command ? 0 : err_set(err, EINVAL, "\"%.80s\" is not a command; the commands are %s", word, strbuf_str(&names));
	}
	if (commands[o->command].most == 0)
		return err_set(err, EINVAL, "%s takes no argument, not \"%.80s\"", commands[o->command].name, word);
	if (o->n_arguments == commands[o->command].most)
		return err_set(err, EINVAL, "\"%.80s\" is one argument too many", word);
	*(o->n_arguments++ ? &o->second : &o->argument) = word;
	return 0;
}

static int check_arguments(const struct options *o, struct err *err)
{
	const struct command_info *command = &commands[o->command];

	if (o->n_arguments < command->least)
		return err_set(err, EINVAL, "%s needs %s; `kubectl afterglow %s --help` says what that is", command->name,
			       command->arguments, command->name);
	if (o->command == COMMAND_POLICY && strcmp(o->argument, "explain") != 0)
		return err_set(err, EINVAL, "policy takes \"explain POD\", not \"%.80s\"", o->argument);
	return 0;
}

static int check(const struct options *o, struct err *err)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(NAMES_MAX);

	if (o->help || o->version)
		return 0;
	command_add_names(&names);
	if (o->command == COMMAND_NONE)
		return err_set(err, EINVAL, "a command is missing: %s", strbuf_str(&names));
	if (check_arguments(o, err) < 0)
		return -EINVAL;
	if (o->all_namespaces && o->namespace)
		return err_set(err, EINVAL, "--namespace and --all-namespaces exclude each other");
	if (o->owner && !strchr(o->owner, '/'))
		return err_set(err, EINVAL, "--owner \"%.80s\" must be KIND/NAME, such as RayJob/train", o->owner);
	if (o->class && failure_class_from_name(o->class) < 0)
		return err_set(err, EINVAL, "--class \"%.60s\" is not a class; docs/failure-classes.md lists them", o->class);
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options, struct err *err)
{
	struct options o = { 0 };
	int r = 0;

	for (int at = 1; at < argc && r == 0; at++)
		r = argv[at][0] == '-' ? take_option(&o, argv, &at, err) : take_word(&o, argv[at], err);
	if (r == 0)
		r = check(&o, err);
	if (r == 0)
		*ret_options = o;
	return r;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void propose(struct strbuf *out, const char *text, const char *begun)
{
	if (begins(text, begun))
		strbuf_addf(out, "%s\n", text);
}

static void propose_classes(struct strbuf *out, const char *begun)
{
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++)
		propose(out, failure_class_name(class), begun);
}

static void propose_commands(struct strbuf *out, const char *begun)
{
	for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
		propose(out, commands[c].name, begun);
}

void options_complete(char *const *words, int n, struct strbuf *out)
{
	const char *begun = n ? words[n - 1] : "", *before = n > 1 ? words[n - 2] : "";
	bool has_command = false, of_policy = n > 2 && strcmp(words[n - 3], "policy") == 0;

	for (int i = 0; i + 1 < n; i++)
		has_command = has_command || command_find(words[i]);
	if (strcmp(before, "--class") == 0 || (strcmp(before, "explain") == 0 && !of_policy))
		propose_classes(out, begun);
	else if (strcmp(before, "policy") == 0)
		propose(out, "explain", begun);
	else if (begins(begun, "-"))
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			propose(out, table[i].name, begun);
	else if (!has_command)
		propose_commands(out, begun);
	strbuf_adds(out, ":4\n");
}
