/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core handler: the program that the kernel runs for each core, with the core as its standard
 * input. It is a copy of afterglow-node on the node, under the name CORE_PROGRAM. It works while no
 * agent runs. A core of a pod whose sidecar accepts it goes to that sidecar; every other core goes,
 * from its first byte on, where the kernel would have sent it.
 */
#pragma once

#include <stdbool.h>

#define CORE_CONFIG "config" /* a file beside the program: the kubelet's directory, in a line */
/*
 * A file beside the program, with the PID of a process of the agent that crashes on purpose. The
 * handler removes the file when that core comes.
 */
#define CORE_PROBE_PREFIX "probe-"
#define CORE_PROBE CORE_PROBE_PREFIX "%d"

/* Whether the kernel started this process as the core handler, by the name under which it runs. */
bool core_handler_is_asked(int argc, char **argv);

/* Handles the core on standard input. Returns the exit code. */
int core_handler_run(char **argv);
