/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-node. */
#include "node/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const char node_usage[] =
	"usage: afterglow-node [OPTION...]\n"
	"       afterglow-node restore|facts [OPTION...]\n"
	"Sends to the sidecar in each Ray pod what only the node knows about that pod. Runs as root in the node's\n"
	"PID namespace, once on each node.\n"
	"  --root DIR          the node's files are mounted below DIR (default: they are at their own paths)\n"
	"  --directory DIR     keep the program that takes cores there, on the node (default " DEFAULT_DIRECTORY ")\n"
	"  --kubelet DIR       the kubelet's directory on the node (default " DEFAULT_KUBELET ")\n"
	"  --cores on|off      have the kernel hand cores to that program. It brings those of Ray pods to their\n"
	"                      sidecars and passes all others on to where they went before (default on)\n"
	"  --signals on|off    tell sidecars who sent their processes SIGKILL and other signals that end them (default on)\n"
	"  --kernel-lines on|off  give sidecars the lines of the kernel log that concern their pods (default on)\n"
	"  --syslog on|off     give them such lines of the node's syslog file or journal too, if the kernel, the kubelet or the container\n"
	"                      runtime wrote them (default on)\n"
	"  --tracefs DIR       tracefs is mounted at DIR (default: where it usually is, or one of its own)\n"
	"  --instance NAME     the name of its instance there (default afterglow)\n"
	"  --output FILE       for facts: write them to FILE, which must exist (default: standard output)\n"
	"  --help, --version\n"
	"SIGTERM ends it and restores core_pattern.\n"
	"facts prints, as JSON, the properties of the node on which reports depend.\n"
	"restore only restores core_pattern, for an agent that was killed before it could do so.\n";

#define INSTANCE_MAX 60

static const struct row {
	const char *name;
	size_t at;
} texts[] = {
	{ "--root", offsetof(struct node_options, root) },
	{ "--directory", offsetof(struct node_options, directory) },
	{ "--kubelet", offsetof(struct node_options, kubelet) },
	{ "--tracefs", offsetof(struct node_options, tracefs) },
	{ "--output", offsetof(struct node_options, output) },
}, names[] = {
	{ "--instance", offsetof(struct node_options, instance) },
}, switches[] = {
	{ "--cores", offsetof(struct node_options, cores) },
	{ "--signals", offsetof(struct node_options, signals) },
	{ "--kernel-lines", offsetof(struct node_options, kernel_lines) },
	{ "--syslog", offsetof(struct node_options, syslog) },
};

static const struct row *find(const struct row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static int take_switch(const char *option, const char *value, bool *ret_on, struct err *err)
{
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return err_set(err, EINVAL, "%s takes on or off, not %s", option, value);
	*ret_on = strcmp(value, "on") == 0;
	return 0;
}

static int take_option(struct node_options *o, const char *option, const char *value, struct err *err)
{
	const struct row *row = find(texts, ARRAY_SIZE(texts), option), *on = find(switches, ARRAY_SIZE(switches), option);
	const struct row *name = find(names, ARRAY_SIZE(names), option);

	if (!row && !on && !name)
		return err_set(err, EINVAL, "unknown option %s (see --help)", option);
	if (!value)
		return err_set(err, EINVAL, "%s takes a value", option);
	if (on)
		return take_switch(option, value, (bool *)((char *)o + on->at), err);
	if (name ? strchr(value, '/') || value[0] == '.' || strlen(value) > INSTANCE_MAX : value[0] != '/')
		return err_set(err, EINVAL, name ? "%s takes a name, not %s" : "%s takes an absolute path, not %s", option, value);
	*(const char **)((char *)o + (name ? name : row)->at) = value;
	return 0;
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

	for (char **at = argv + 1; *at; at++) {
		int rc = 0;

		if (strcmp(*at, "--help") == 0)
			o.command = NODE_HELP;
		else if (strcmp(*at, "--version") == 0)
			o.command = NODE_VERSION;
		else if (strcmp(*at, "restore") == 0)
			o.command = NODE_RESTORE;
		else if (strcmp(*at, "facts") == 0)
			o.command = NODE_FACTS;
		else {
			rc = take_option(&o, at[0], at[1], err);
			at++;
		}
		if (rc < 0)
			return rc;
	}
	*ret_options = o;
	return 0;
}
