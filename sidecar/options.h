/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-sidecar. */
#pragma once

#include "lib/command_line.h"
#include "sidecar/exec.h"

enum sidecar_command { COMMAND_RECORD, COMMAND_EXEC };

struct sidecar_options {
	enum sidecar_command command;
	int run_as; /* uid to become, -1: stay */
	bool help, version;
	struct exec_options exec; /* for COMMAND_RECORD only exec.record counts */
};

/* Parses the arguments and the pod's environment. On failure err has a line for the user. */
int sidecar_options_parse(char **argv, struct sidecar_options *ret_options, struct err *err);

/*
 * Prints --help: that of COMMAND_RECORD has all, that of COMMAND_EXEC is for people without
 * Kubernetes. Returns the exit code.
 */
int sidecar_options_print_help(enum sidecar_command command);
