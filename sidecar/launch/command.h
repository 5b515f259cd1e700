/* SPDX-License-Identifier: Apache-2.0 */
/* The command itself, from fork to exec. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H
#define AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H

#include <signal.h>
#include <stdbool.h>

#include "sidecar/launch/options.h"

/* Why the command was never executed. */
struct exec_failure {
	int error; /* what execve(2) gave; 0: it did not fail */
	bool there; /* a file of that name exists */
};

/*
 * Zeroed memory that a child of fork(2) shares with us, for command_run to fill in: its exec, or its end, gives it back.
 * A pipe would do as well, and would cost descriptors that the command may lack. NULL: there is none to have.
 */
struct exec_failure *exec_failure_new(void);

/*
 * In the child: what the options ask for, then exec. Exits as a shell does when that cannot be, after the reason was
 * written to ret_failure (NULL: to nowhere).
 */
_Noreturn void command_run(const struct options *o, const sigset_t *original_mask, struct exec_failure *ret_failure);

#endif
