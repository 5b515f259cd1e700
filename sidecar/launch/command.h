/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the command: from fork to exec. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H
#define AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H

#include <signal.h>
#include <stdbool.h>

#include "sidecar/launch/options.h"

/* Why the command was never executed. */
struct exec_failure {
	int error; /* the errno of execve(2); 0: it did not fail */
	bool there; /* a file of that name exists */
};

/*
 * Returns zeroed memory that a child of fork(2) shares with us, and that command_run fills in. The child's exec or end unmaps it
 * there. A pipe would work as well, but would cost descriptors that the command may lack. NULL: the kernel has no memory for it.
 */
struct exec_failure *exec_failure_new(void);

/*
 * Called in the child: applies the options, then executes the command. When that fails, writes the reason to ret_failure (which
 * may be NULL) and exits with the code that a shell would use.
 */
_Noreturn void command_run(const struct options *o, const sigset_t *original_mask, struct exec_failure *ret_failure);

#endif
