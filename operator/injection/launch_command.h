/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script of ours in front of a container's command, whose words become the script's arguments.
 * Pure.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_LAUNCH_COMMAND_H
#define AFTERGLOW_OPERATOR_INJECTION_LAUNCH_COMMAND_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/injection/launch_script.h"

/*
 * The launcher. False, and nothing done: the container has no command of its own, so there is
 * nothing to put it in front of (the image's entrypoint is unknown); or there is no memory.
 */
bool launch_command_wrap(cJSON *container, const struct launch_script *script);

/*
 * Without the launcher, a wait for $FQ_RAY_IP:port. False, and nothing done: the command is not one
 * for a shell, so the image may not have any.
 */
bool launch_command_wait(cJSON *container, const char *port);

#endif
