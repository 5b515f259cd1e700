/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of kubectl-afterglow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/command_line.h"
#include "lib/strbuf.h"
#include "plugin/command.h"

struct options {
	enum command command;
	const char *argument, *second; /* the command's arguments; NULL: none */
	int n_arguments;
	const char *kubeconfig, *context, *namespace, *selector, *output;
	const char *class, *cluster, *owner, *image, *container;
	const char *before; /* a file: an earlier answer of `objects` as JSON */
	const char *store; /* a directory of bundles in the place of a cluster */
	int64_t since_ns; /* nanoseconds before now; 0: any time */
	const char *program; /* as the user calls it */
	bool of_command; /* called by `afterglow`: without Kubernetes */
	bool all_namespaces, by_signature, watch, no_open, help, version;
};

/*
 * Sets *ret_options, which points into argv; NULL ends argv. Whether argv[0] is "afterglow" says
 * whose words messages have. -EINVAL: err names the argument and says what would be right; then
 * program and of_command are set alone.
 */
int options_parse(char **argv, struct options *ret_options, struct err *err);

/*
 * Completes the last of the n words after the plugin's name; it may be "". Appends the answer that
 * kubectl expects of kubectl_complete-afterglow: a line for each proposal, then ":4", which tells
 * the shell not to propose files.
 */
void options_complete(char *const *words, int n, struct strbuf *out);
