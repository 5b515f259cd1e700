/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-node. */
#pragma once

#include <stdbool.h>

#include "lib/command_line.h"

#define DEFAULT_DIRECTORY "/var/lib/afterglow"
#define DEFAULT_KUBELET "/var/lib/kubelet"

enum node_command { NODE_RUN, NODE_RESTORE, NODE_FACTS };

struct node_options {
	enum node_command command;
	const char *root; /* where the node's files are seen; "": at their own paths */
	const char *directory; /* on the node, for the core handler */
	const char *kubelet; /* the kubelet's directory on the node */
	const char *proc; /* a procfs of the node's initial PID namespace, as the agent sees it */
	bool cores; /* send cores to sidecars: set core_pattern */
	bool signals; /* report to sidecars which process sent a signal */
	bool kernel_lines; /* send sidecars the lines of the kernel log that concern their pods */
	bool syslog; /* send sidecars the lines of the node's syslog that concern their pods */
	const char *instance; /* the name of the agent's instance in tracefs */
	const char *output; /* the file that the facts are written to; NULL: standard output */
	bool help, version;
	const char *tracefs; /* where tracefs is mounted; NULL: find it, or mount one */
};

/* For --help. */
extern const struct option_table node_options_table;

/*
 * Parses argv, which ends with NULL; the options point into it. -EINVAL: err names the wrong
 * argument.
 */
int node_options_parse(char **argv, struct node_options *ret_options, struct err *err);
