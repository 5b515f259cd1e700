/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-node. */
#include "node/options.h"

#include <errno.h>
#include <string.h>

#define INSTANCE_MAX 60
#define AT(member) offsetof(struct node_options, member)

static const char *const off_on[] = { "off", "on", NULL };

/* clang-format off */
static const struct option_row rows[] = {
	{ .help = "usage: afterglow-node [OPTION...]\n"
		  "       afterglow-node restore|facts [OPTION...]\n"
		  "Sends to the sidecar in each Ray pod what only the node knows about that pod. Runs as root in the node's\n"
		  "PID namespace, once on each node.\n" },
	{ "--root", "DIR", OPTION_PATH, AT(root),
	  .help = "the node's files are mounted below DIR (default: they are at their own paths)" },
	{ "--directory", "DIR", OPTION_PATH, AT(directory),
	  .help = "keep the program that takes cores there, on the node (default " DEFAULT_DIRECTORY ")" },
	{ "--kubelet", "DIR", OPTION_PATH, AT(kubelet),
	  .help = "the kubelet's directory on the node (default " DEFAULT_KUBELET ")" },
	{ "--cores", "on|off", OPTION_EITHER, AT(cores), .choices = off_on,
	  .help = "have the kernel hand cores to that program. It brings those of Ray pods to their\n"
		  "sidecars and passes all others on to where they went before (default on)" },
	{ "--signals", "on|off", OPTION_EITHER, AT(signals), .choices = off_on,
	  .help = "tell sidecars who sent their processes SIGKILL and other signals that end them (default on)" },
	{ "--kernel-lines", "on|off", OPTION_EITHER, AT(kernel_lines), .choices = off_on,
	  .help = "give sidecars the lines of the kernel log that concern their pods (default on)" },
	{ "--syslog", "on|off", OPTION_EITHER, AT(syslog), .choices = off_on,
	  .help = "give them such lines of the node's syslog file or journal too, if the kernel, the kubelet or the\n"
		  "container runtime wrote them (default on)" },
	{ "--tracefs", "DIR", OPTION_PATH, AT(tracefs),
	  .help = "tracefs is mounted at DIR (default: where it usually is, or one of its own)" },
	{ "--instance", "NAME", OPTION_TEXT, AT(instance), .help = "the name of its instance there (default afterglow)" },
	{ "--output", "FILE", OPTION_PATH, AT(output),
	  .help = "for facts: write them to FILE, which must exist (default: standard output)" },
	{ "--help", .kind = OPTION_FLAG, .at = AT(help) },
	{ "--version", .kind = OPTION_FLAG, .at = AT(version), .help = "" },
	{ .help = "SIGTERM ends it and restores core_pattern.\n"
		  "facts prints, as JSON, the properties of the node on which reports depend.\n"
		  "restore only restores core_pattern, for an agent that was killed before it could do so.\n" },
};
/* clang-format on */

const struct option_table node_options_table = OPTION_TABLE(rows, 22);

/* Returns 1, the number of words that a command has. */
static int command_take(struct node_options *o, const char *word, struct err *err)
{
	if (strcmp(word, "restore") != 0 && strcmp(word, "facts") != 0)
		return err_set(err, EINVAL, "unknown command %s (see --help)", word);
	o->command = word[0] == 'r' ? NODE_RESTORE : NODE_FACTS;
	return 1;
}

int node_options_parse(char **argv, struct node_options *ret_options, struct err *err)
{
	struct node_options o = {
		.command = NODE_RUN,
		.root = "",
		.directory = DEFAULT_DIRECTORY,
		.kubelet = DEFAULT_KUBELET,
		.proc = "/proc",
		.cores = true,
		.signals = true,
		.kernel_lines = true,
		.syslog = true,
		.instance = "afterglow",
	};

	for (int i = 1, n; argv[i]; i += n) {
		n = argv[i][0] == '-' ? option_take(&node_options_table, 0, argv + i, &o, err) :
					command_take(&o, argv[i], err);
		if (n < 0)
			return n;
	}
	if (strchr(o.instance, '/') || o.instance[0] == '.' || strlen(o.instance) > INSTANCE_MAX)
		return err_set(err, EINVAL, "--instance takes a name, not %s", o.instance);
	*ret_options = o;
	return 0;
}
