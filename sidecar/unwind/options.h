/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of afterglow-unwind. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_OPTIONS_H
#define AFTERGLOW_SIDECAR_UNWIND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct options {
	int core_fd, root_fd, summary_fd, files_fd, serve_fd; /* -1: not given */
	bool no_root;
	size_t max_threads, max_frames;
};

/*
 * Parses the command line and opens the files that it names. Returns -1 after a message on stderr
 * if it is wrong. Exits for --help and --version.
 */
int options_parse(int argc, char **argv, struct options *ret_options);

#endif
