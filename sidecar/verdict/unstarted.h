/* SPDX-License-Identifier: Apache-2.0 */
/* A command that was never executed, as the launcher tells it: it alone has the errno of its own exec. Pure. */
#ifndef AFTERGLOW_SIDECAR_VERDICT_UNSTARTED_H
#define AFTERGLOW_SIDECAR_VERDICT_UNSTARTED_H

#include <stdbool.h>

#include "sidecar/launch/protocol.h"

struct observation;
struct verdict;

struct unstarted {
	int error; /* errno of execve(2) */
	bool there; /* a file of that name exists: ENOENT then speaks of its interpreter or loader */
	char command[LAUNCH_COMMAND_MAX + 1]; /* printable */
};

/* v->exit_code is 126 or 127, o->unstarted is set: class, confidence, sentence, evidence. */
void unstarted_verdict(const struct observation *o, struct verdict *v);

#endif
