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

/* For --help. */
extern const struct option_table sidecar_options_table;

/* Parses the arguments and the pod's environment. On failure err has a line for the user. */
int sidecar_options_parse(char **argv, struct sidecar_options *ret_options, struct err *err);
