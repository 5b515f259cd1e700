/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line: one table of options, one of commands. */
#include "plugin/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/docs.h"
#include "lib/failure_class.h"
#include "lib/macros.h"
#include "lib/units.h"

#define NAMES_MAX 512

/* Parses "90s", "30m", "2h" or "7d" to nanoseconds. Returns 0 for anything else. */
static int64_t options_age_of(const char *text)
{
	static const struct {
		char unit;
		int64_t ns;
	} units[] = { { 's', NS_PER_SEC },
		      { 'm', 60 * NS_PER_SEC },
		      { 'h', 3600 * NS_PER_SEC },
		      { 'd', 86400 * NS_PER_SEC } };
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (n > 0 && n <= 36500 && end[0] == units[i].unit && !end[1])
			return n * units[i].ns;
	return 0;
}

static int since_parse(void *options, const char *option, const char *value, struct err *err)
{
	int64_t age = options_age_of(value);

	if (!age)
		return err_set(
			err, EINVAL,
			"%s \"%.40s\" must be a time such as 90s, 30m, 2h or 7d (at most 36500 of a unit)",
			option, value);
	((struct options *)options)->since_ns = age;
	return 0;
}

#define AT(member) offsetof(struct options, member)

/* clang-format off */
static const struct option_row rows[] = {
	{ "--namespace", .letter = 'n', .kind = OPTION_TEXT, .at = AT(namespace) },
	{ "--all-namespaces", .letter = 'A', .kind = OPTION_FLAG, .at = AT(all_namespaces) },
	{ "--selector", .letter = 'l', .kind = OPTION_TEXT, .at = AT(selector) },
	{ "--output", .letter = 'o', .kind = OPTION_TEXT, .at = AT(output) },
	{ "--watch", .letter = 'w', .kind = OPTION_FLAG, .at = AT(watch) },
	{ "--help", .letter = 'h', .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version) },
	{ "--context", .kind = OPTION_TEXT, .at = AT(context) },
	{ "--kubeconfig", .kind = OPTION_TEXT, .at = AT(kubeconfig) },
	{ "--class", .kind = OPTION_TEXT, .at = AT(class) },
	{ "--cluster", .kind = OPTION_TEXT, .at = AT(cluster) },
	{ "--owner", .kind = OPTION_TEXT, .at = AT(owner) },
	{ "--image", .kind = OPTION_TEXT, .at = AT(image) },
	{ "--container", .letter = 'c', .kind = OPTION_TEXT, .at = AT(container) },
	{ "--store", .kind = OPTION_TEXT, .at = AT(store) },
	{ "--before", .kind = OPTION_TEXT, .at = AT(before) },
	{ "--since", .kind = OPTION_OTHER, .at = AT(since_ns), .parse = since_parse },
	{ "--by-signature", .kind = OPTION_FLAG, .at = AT(by_signature) },
	{ "--no-open", .kind = OPTION_FLAG, .at = AT(no_open) },
};
/* clang-format on */

/* Their help is that of the commands (command.c). */
static const struct option_table table = OPTION_TABLE(rows, 0);

/* Returns 1, the number of words that it takes. */
static int word_take(struct options *o, const char *word, struct err *err)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(NAMES_MAX);

	if (o->command == COMMAND_NONE) {
		o->command = command_find(word);
		command_add_names(&names);
		return o->command ? 1 :
				    err_set(err, EINVAL,
					    "\"%.80s\" is not a command; the commands are %s", word,
					    strbuf_str(&names));
	}
	if (commands[o->command].most == 0)
		return err_set(err, EINVAL, "%s takes no argument, not \"%.80s\"",
			       commands[o->command].name, word);
	if (o->n_arguments == commands[o->command].most)
		return err_set(err, EINVAL, "\"%.80s\" is one argument too many", word);
	*(o->n_arguments++ ? &o->second : &o->argument) = word;
	return 1;
}

/* As the user calls it: `afterglow open` is our report. */
static const char *options_command_name(const struct options *o)
{
	return o->of_command && o->command == COMMAND_REPORT ? "open" : commands[o->command].name;
}

static int check_arguments(const struct options *o, struct err *err)
{
	const struct command_info *command = &commands[o->command];

	/* Of bundles the newest is meant then. */
	if (o->n_arguments < command->least && !o->store)
		return err_set(err, EINVAL, "%s needs %s; `%s %s --help` says what that is",
			       options_command_name(o), command->arguments, o->program,
			       options_command_name(o));
	return 0;
}

/* What kubectl would do does not go with a directory. */
static int options_check_store(const struct options *o, struct err *err)
{
	bool prints = o->command == COMMAND_LIST || o->command == COMMAND_SHOW;
	const char *place = o->of_command ? "without Kubernetes" : "with --store";

	if (o->store && o->output && prints && strcmp(o->output, "json") != 0)
		return err_set(err, EINVAL, "%s, --output of %s can only be json", place,
			       commands[o->command].name);
	if (o->store && (o->watch || o->namespace || o->all_namespaces || o->selector ||
			 o->context || o->kubeconfig || o->image))
		return err_set(
			err, EINVAL,
			"--watch, --namespace, --all-namespaces, --selector, --context, --kubeconfig and --image "
			"do not go %s",
			place);
	return 0;
}

static bool is_given(const struct options *o, const struct option_row *row)
{
	const char *member = (const char *)o + row->at;

	return row->kind == OPTION_FLAG ? *(const bool *)member :
	       row->kind == OPTION_TEXT ? *(const char *const *)member != NULL :
					  *(const int64_t *)member != 0;
}

/* An option that a command would ignore is refused: what a command takes stands in its help. */
static int check_options(const struct options *o, struct err *err)
{
	const struct command_info *command = &commands[o->command];
	bool json_only = strstr(command->help, "--output json ") != NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (is_given(o, &rows[i]) && !strstr(command->help, rows[i].name))
			return err_set(err, EINVAL,
				       "%s does not take %s; `%s %s --help` lists its options",
				       options_command_name(o), rows[i].name, o->program,
				       options_command_name(o));
	if (o->output && json_only && strcmp(o->output, "json") != 0)
		return err_set(err, EINVAL, "--output of %s can only be json, not \"%.40s\"",
			       command->name, o->output);
	return 0;
}

static int options_check(const struct options *o, struct err *err)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(NAMES_MAX);

	if (o->help || o->version)
		return 0;
	command_add_names(&names);
	if (o->command == COMMAND_NONE)
		return err_set(err, EINVAL, "a command is missing: %s", strbuf_str(&names));
	if (check_options(o, err) < 0 || options_check_store(o, err) < 0 ||
	    check_arguments(o, err) < 0)
		return -EINVAL;
	if (o->all_namespaces && o->namespace)
		return err_set(err, EINVAL, "--namespace and --all-namespaces exclude each other");
	if (o->owner && !strchr(o->owner, '/'))
		return err_set(err, EINVAL,
			       "--owner \"%.80s\" must be KIND/NAME, such as RayJob/train",
			       o->owner);
	if (o->class && failure_class_from_name(o->class) < 0)
		return err_set(err, EINVAL,
			       "--class \"%.60s\" is not a class; " DOCS_PAGE(
				       "failure-classes.md") " lists them",
			       o->class);
	return 0;
}

int options_parse(char **argv, struct options *ret_options, struct err *err)
{
	bool of_command = strcmp(argv[0], "afterglow") == 0;
	struct options o = { .program = of_command ? argv[0] : "kubectl afterglow",
			     .of_command = of_command };

	*ret_options = o;
	for (int i = 1, n; argv[i]; i += n) {
		/* No option is a number: -9 is a signal. */
		n = argv[i][0] == '-' && !isdigit((unsigned char)argv[i][1]) ?
			    option_take(&table, 0, argv + i, &o, err) :
			    word_take(&o, argv[i], err);
		if (n < 0)
			return n;
	}
	int r = options_check(&o, err);
	if (r == 0)
		*ret_options = o;
	return r;
}

static void options_propose(struct strbuf *out, const char *text, const char *begun)
{
	if (text_begins_with(text, begun))
		strbuf_addf(out, "%s\n", text);
}

static void propose_classes(struct strbuf *out, const char *begun)
{
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class ++)
		options_propose(out, failure_class_name(class), begun);
}

void options_complete(char *const *words, int n, struct strbuf *out)
{
	const char *begun = n ? words[n - 1] : "", *before = n > 1 ? words[n - 2] : "";
	bool has_command = false;

	for (int i = 0; i + 1 < n; i++)
		has_command = has_command || command_find(words[i]);
	if (strcmp(before, "--class") == 0 || strcmp(before, "explain") == 0)
		propose_classes(out, begun);
	else if (text_begins_with(begun, "-"))
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			options_propose(out, rows[i].name, begun);
	else if (!has_command) {
		for (enum command c = COMMAND_NONE + 1; c < COMMAND_COUNT; c++)
			options_propose(out, commands[c].name, begun);
	}
	strbuf_adds(out, ":4\n");
}
