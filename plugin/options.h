/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of kubectl-afterglow. */
#ifndef AFTERGLOW_PLUGIN_OPTIONS_H
#define AFTERGLOW_PLUGIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strbuf.h"

enum command { COMMAND_NONE, COMMAND_LIST, COMMAND_SHOW, COMMAND_INCIDENTS, COMMAND_EXPLAIN, COMMAND_DOCTOR, COMMAND_BUNDLE, COMMAND_RELEASE, COMMAND_PAGE };

struct options {
	enum command command;
	const char *argument, *second; /* after the command; NULL: none */
	const char *kubeconfig, *context, *namespace, *selector, *output;
	const char *class, *cluster, *owner, *image, *container;
	int64_t since_ns; /* how long ago, at most; 0: any time */
	bool all_namespaces, by_signature, watch, help, version;
};

/* Fills in ret_options, which point into argv. -EINVAL: err names the argument and what would be right. */
int options_parse(int argc, char **argv, struct options *ret_options, struct err *err);

/* Of a command; COMMAND_NONE: of the program. Static. */
const char *options_help(enum command command);

/* "list", ... in the order of enum command; NULL at the end. */
extern const char *const command_names[];

/*
 * Completes the last of words (n of them, perhaps ""; after the plugin's name), as kubectl asks kubectl_complete-afterglow: a line
 * for each proposal, then ":4", which says not to propose files.
 */
void options_complete(char *const *words, int n, struct strbuf *out);

#endif
