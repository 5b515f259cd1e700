/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-unwind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/command_line.h"

struct options {
	int core_fd, root_fd, summary_fd, files_fd, serve_fd; /* -1: not given */
	int dump_fd, memory_fd, maps_fd; /* all three, or -1 */
	bool no_root, help, version;
	size_t max_threads, max_frames;
};

/* For --help. */
extern const struct option_table unwind_options;

/* Parses argv, which ends with NULL, and opens the files that it names. */
int options_parse(char **argv, struct options *ret_options, struct err *err);
