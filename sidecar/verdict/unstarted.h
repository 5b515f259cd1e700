/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that was never executed. Only the launcher knows the errno of its exec, and reports it.
 * Pure.
 */
#ifndef AFTERGLOW_SIDECAR_VERDICT_UNSTARTED_H
#define AFTERGLOW_SIDECAR_VERDICT_UNSTARTED_H

#include <stdbool.h>

#include "sidecar/launch/protocol.h"

struct observation;
struct verdict;

struct unstarted {
	int error; /* errno of execve(2) */
	bool there; /* a file of that name exists, so ENOENT means its interpreter or loader */
	char command[LAUNCH_COMMAND_MAX + 1]; /* printable */
};

/*
 * Sets class, confidence, sentence and evidence; v->exit_code is 126 or 127 and o->unstarted is
 * set.
 */
void unstarted_verdict(const struct observation *o, struct verdict *v);

#endif
