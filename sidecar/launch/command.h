/* SPDX-License-Identifier: Apache-2.0 */
/* The command itself, from fork to exec. */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H
#define AFTERGLOW_SIDECAR_LAUNCH_COMMAND_H

#include <signal.h>

#include "sidecar/launch/options.h"

/* In the child: what the options ask for, then exec. Exits as a shell does when that cannot be. */
_Noreturn void command_run(const struct options *o, const sigset_t *original_mask);

#endif
