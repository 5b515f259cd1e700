/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the kernel runs for each core, with the core as its standard input: a copy of this one on the node, under the
 * name of CORE_PROGRAM. It needs nothing of the agent, so cores go their way while there is none. What belongs to a pod with a sidecar
 * that takes it goes there; everything else goes where the kernel would have sent it, from its first byte on.
 */
#ifndef AFTERGLOW_NODE_CORE_HANDLER_H
#define AFTERGLOW_NODE_CORE_HANDLER_H

#include <stdbool.h>

#define CORE_CONFIG "config" /* beside the program: the kubelet's directory, one line */
#define CORE_PROBE "probe-%d" /* beside it: that process is the agent's own, and this file is removed when its core comes */

/* By the name under which this program runs. */
bool core_handler_is_asked(int argc, char **argv);

/* The exit code. */
int core_handler_run(char **argv);

#endif
