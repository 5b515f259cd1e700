/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar exec`: launcher and sidecar around one command, without Kubernetes.
 */
#pragma once

#include <stdint.h>

#include "sidecar/ending/options.h"

#define EXEC_MEMORY_MIN ((int64_t)4 << 20)

struct exec_options {
	struct record_options record; /* socket_path is set by exec_run */
	const char *name;
	int64_t memory_max; /* bytes, 0: no cgroup of its own */
	bool cores_asked_for; /* the user gave --cores, so they may be written into memory, too */
	char **argv;
};

/*
 * Runs the command to its end. Returns its exit code, 0 to 255 (128+N after signal N; 126 or 127 if
 * it cannot be executed). What this machine does not let us do is said on stderr, and the command
 * runs without it: without its own memory limit, or without a report, in the place of this process.
 */
int exec_run(const struct exec_options *options);
