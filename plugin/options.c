/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one table of options, one of commands. */
#include "plugin/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/macros.h"
#include "lib/units.h"

#define COMMON_HELP \
	"  -n, --namespace NAME   look in this namespace (default: kubectl's)\n" \
	"  -A, --all-namespaces   look in all namespaces\n" \
	"      --context NAME, --kubeconfig FILE   as kubectl has them\n" \
	"  -h, --help             print this\n"

#define FILTER_HELP \
	"      --class CLASS      only failures of this class, such as KernelOOMContainer\n" \
	"      --cluster NAME     only those of this RayCluster\n" \
	"      --owner KIND/NAME  only those of this RayJob, RayService or RayCluster: RayJob/train\n" \
	"      --since AGE        only failures not older than this: 90s, 30m, 2h, 7d\n" \
	"  -l, --selector LABELS  only failures with these labels, written as for kubectl\n"

static const char *const helps[] = {
	[COMMAND_NONE] = "usage: kubectl afterglow COMMAND [ARGUMENT] [OPTION...]\n"
			 "Lists and explains the failures of Ray clusters.\n"
			 "\n"
			 "  list                   list failures, the newest last\n"
			 "  show NAME              show one failure with its evidence; NAME is a failure or a pod\n"
			 "  incidents [ID]         show failures that belong together: the first cause and what followed\n"
			 "  explain CODE|CLASS     explain an exit code or a class: explain 137\n"
			 "  bundle NAME DIR        save the bundle of a failure, all of its evidence, in a directory\n"
			 "  page [FILE]            write all failures as one HTML page, with a timeline and filters\n"
			 "  release POD            end a container that is held after its failure\n"
			 "  doctor                 what this cluster grants Afterglow, what each gap costs, how to close it\n"
			 "\n"
			 "`kubectl afterglow COMMAND --help` says more. kubectl itself is run to reach the cluster.\n",
	[COMMAND_LIST] = "usage: kubectl afterglow list [OPTION...]\n"
			 "Lists RayFailures, the newest last.\n"
			 "\n" FILTER_HELP
			 "      --by-signature     print one line for each signature, with the number of its failures\n"
			 "  -o, --output FORMAT    json, yaml, name or wide: as kubectl get rayfailures prints them\n"
			 "  -w, --watch            then print new failures as they come\n" COMMON_HELP,
	[COMMAND_SHOW] = "usage: kubectl afterglow show NAME [OPTION...]\n"
			 "Prints one failure with its evidence. NAME is the name of a RayFailure, or of a pod: then the newest\n"
			 "failure of the pod is printed.\n"
			 "\n"
			 "  -o, --output FORMAT    json or yaml: print the RayFailure itself\n" COMMON_HELP,
	[COMMAND_INCIDENTS] = "usage: kubectl afterglow incidents [ID] [OPTION...]\n"
			      "Prints each first cause with the failures that followed from it. With an ID, prints only that incident.\n"
			      "\n" FILTER_HELP COMMON_HELP,
	[COMMAND_EXPLAIN] = "usage: kubectl afterglow explain CODE|CLASS\n"
			    "Explains what an exit code from 0 to 255 or a class of failure means, what can cause it, and what to\n"
			    "look at. It needs no cluster.\n"
			    "\n"
			    "  -h, --help             print this\n",
	[COMMAND_DOCTOR] = "usage: kubectl afterglow doctor [OPTION...]\n"
			   "Looks at CRDs, operator, webhook, Ray pods, claims and nodes. Ends with 1 if something is broken.\n"
			   "\n" COMMON_HELP,
	[COMMAND_BUNDLE] = "usage: kubectl afterglow bundle NAME DIR [OPTION...]\n"
			   "Saves the bundle of a failure in DIR, which is made or empty. NAME is that of the RayFailure or of its\n"
			   "pod. A pod that is made from the sidecar's image reads the store (claim, S3 or HDFS), and is deleted\n"
			   "afterwards, also after Ctrl-C. The digest of each file is compared. You need the rights to create pods\n"
			   "and pods/exec, and to delete pods.\n"
			   "\n"
			   "      --image IMAGE      the sidecar's image (default: that of a Ray pod in the namespace)\n" COMMON_HELP,
	[COMMAND_PAGE] = "usage: kubectl afterglow page [FILE] [OPTION...]\n"
			 "Writes all failures as one HTML page that needs nothing else: a timeline, groups by signature, and a list\n"
			 "with filters. It goes to FILE, which is replaced, or to stdout.\n"
			 "\n" FILTER_HELP COMMON_HELP,
	[COMMAND_RELEASE] = "usage: kubectl afterglow release POD [OPTION...]\n"
			    "Ends the Ray container of a pod that is held after its failure (recording.holdOnFailure).\n"
			    "\n"
			    "  -c, --container NAME   which container (default: the first Ray container of the pod)\n" COMMON_HELP,
};

const char *const command_names[] = { "", "list", "show", "incidents", "explain", "doctor", "bundle", "release", "page", NULL };

const char *options_help(enum command command)
{
	return helps[command];
}

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
#undef AT
};

/* "90s", "30m", "2h", "7d" in nanoseconds; 0: none of these. */
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

/* The row of an option as it is written, "--name", "--name=value" or "-x"; -1: none. ret_value: what follows '='. */
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
		return err_set(err, EINVAL, "%.80s is no option; --help lists them", argv[*at]);
	if (table[row].kind == FLAG && value)
		return err_set(err, EINVAL, "%s takes no value", table[row].name);
	if (table[row].kind != FLAG && !value)
		value = argv[*at + 1] ? argv[++*at] : NULL;
	if (table[row].kind != FLAG && !value)
		return err_set(err, EINVAL, "%s wants a value", table[row].name);
	return set(o, (size_t)row, value, err);
}

static int take_word(struct options *o, const char *word, struct err *err)
{
	if (o->command != COMMAND_NONE) {
		const char **place = o->argument && o->command == COMMAND_BUNDLE ? &o->second : &o->argument;

		if (*place)
			return err_set(err, EINVAL, "\"%.80s\" is one argument too many", word);
		*place = word;
		return 0;
	}
	for (size_t i = 1; command_names[i]; i++)
		if (strcmp(command_names[i], word) == 0)
			o->command = (enum command)i;
	if (o->command == COMMAND_NONE)
		return err_set(err, EINVAL, "\"%.80s\" is no command; they are list, show, incidents, explain, doctor, bundle, release and page", word);
	return 0;
}

static int check(const struct options *o, struct err *err)
{
	bool needs = o->command == COMMAND_SHOW || o->command == COMMAND_EXPLAIN || o->command == COMMAND_BUNDLE ||
		     o->command == COMMAND_RELEASE;
	bool takes = needs || o->command == COMMAND_INCIDENTS || o->command == COMMAND_PAGE;

	if (o->help || o->version)
		return 0;
	if (o->command == COMMAND_NONE)
		return err_set(err, EINVAL, "a command is missing: list, show, incidents, explain, doctor, bundle, release or page");
	if (needs && !o->argument)
		return err_set(err, EINVAL, "%s wants an argument; `kubectl afterglow %s --help` says which", command_names[o->command],
			       command_names[o->command]);
	if (o->command == COMMAND_BUNDLE && !o->second)
		return err_set(err, EINVAL, "bundle wants a directory behind the name");
	if (!takes && o->argument)
		return err_set(err, EINVAL, "%s takes no argument, not \"%.80s\"", command_names[o->command], o->argument);
	if (o->all_namespaces && o->namespace)
		return err_set(err, EINVAL, "--namespace and --all-namespaces exclude each other");
	if (o->owner && !strchr(o->owner, '/'))
		return err_set(err, EINVAL, "--owner \"%.80s\" must be KIND/NAME, such as RayJob/train", o->owner);
	if (o->class && failure_class_from_name(o->class) < 0)
		return err_set(err, EINVAL, "--class \"%.60s\" is no class; docs/failure-classes.md lists them", o->class);
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

void options_complete(char *const *words, int n, struct strbuf *out)
{
	const char *begun = n ? words[n - 1] : "", *before = n > 1 ? words[n - 2] : "";
	bool has_command = false;

	for (int i = 0; i + 1 < n; i++)
		for (size_t c = 1; command_names[c]; c++)
			has_command = has_command || strcmp(words[i], command_names[c]) == 0;
	if (strcmp(before, "--class") == 0 || strcmp(before, "explain") == 0)
		propose_classes(out, begun);
	else if (begins(begun, "-"))
		for (size_t i = 0; i < ARRAY_SIZE(table); i++)
			propose(out, table[i].name, begun);
	else if (!has_command)
		for (size_t c = 1; command_names[c]; c++)
			propose(out, command_names[c], begun);
	strbuf_adds(out, ":4\n");
}
