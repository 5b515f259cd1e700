/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the command: from fork to exec. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "sidecar/launch/options.h"

/* What the child that becomes the command tells the launcher. */
struct command_report {
	/* Why the command was never executed: the errno of execve(2); 0: it did not fail. */
	int error;
	bool there; /* a file of that name exists */
	/*
	 * The soft core limit that it set in place of 0; 0: it did not, or cores in memory were
	 * asked for.
	 */
	volatile rlim_t core_limit;
};

/*
 * Returns zeroed memory that a child of fork(2) shares with us, and that command_run fills in. The
 * child's exec or end unmaps it there. A pipe would work as well, but would cost descriptors that
 * the command may lack. NULL: the kernel has no memory for it.
 */
struct command_report *command_report_new(void);

/*
 * Called in the child: applies the options, then executes the command. When that fails, writes the
 * reason to ret_report (which may be NULL) and exits with the code that a shell would use. It may
 * wait for a working directory that hangs.
 */
_Noreturn void command_run(const struct options *o, const sigset_t *original_mask,
			   struct command_report *ret_report);
