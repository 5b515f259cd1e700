/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a child's program: from fork to exec. Used by child.c alone. */
#pragma once

#include <sys/types.h>

#include "lib/loop/child.h"

enum { CHILD_OUTPUT, CHILD_ERRORS, CHILD_EXTRA, CHILD_ENDS };

/*
 * ends are the child's ends of its pipes, -1 for each that does not exist. Returns 0 when the
 * program has been executed, or the negative errno of the exec that failed. *ret_pid is set in both
 * cases; it is -1 if the fork failed.
 */
int child_fork(const struct child_work *work, const int ends[CHILD_ENDS], pid_t *ret_pid,
	       struct err *err);
