/* SPDX-License-Identifier: Apache-2.0 */
/* afterglow-unwind's command line. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_OPTIONS_H
#define AFTERGLOW_SIDECAR_UNWIND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct options {
	int core_fd, root_fd, summary_fd, files_fd, serve_fd; /* -1: not given */
	bool no_root;
	size_t max_threads, max_frames;
};

/* Opens what is named by a path. -1: it is wrong, which has been said on stderr. Does what --help and --version ask for and exits. */
int options_parse(int argc, char **argv, struct options *ret_options);

#endif
