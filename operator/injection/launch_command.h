/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a script of ours in front of a container's command; the words of the command become the
 * script's arguments. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/injection/launch_script.h"

/*
 * Adds the script that starts the launcher. Returns false and changes nothing if the container has
 * no command of its own (the image's entrypoint is unknown), or without memory.
 */
bool launch_command_wrap(cJSON *container, const struct launch_script *script);

/*
 * Adds a wait for $FQ_RAY_IP:port, without the launcher. Returns false and changes nothing if the
 * command does not use a shell, because then the image may not have a shell.
 */
bool launch_command_wait(cJSON *container, const char *port);
