/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar stack`: asks the sidecars that run beside it for stacks, and prints
 * them.
 */
#pragma once

/*
 * argv: the arguments after "stack": options, and a PID or a part of a process' name. Returns the
 * exit code: 0, stacks were printed; 1, there is no such process, or no sidecar to ask; 2, wrong
 * arguments.
 */
int ask_stacks_run(char **argv);
