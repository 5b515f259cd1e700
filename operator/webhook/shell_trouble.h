/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers images that have no shell. Our line of shell in front of a command that needs none
 * keeps such a container from starting. Nothing in a pod's spec says what is in an image, so one
 * start fails; then pods of the namespace with that image come without the launcher. Pure: time is
 * an argument.
 *
 * The memory is kept for each namespace, because a pod can hide the shell of any image by a volume.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/webhook/remembered.h"

/* After this time it is tried again, as an image of the same name may be another one. */
#define SHELL_TROUBLE_HOLD_NS ((int64_t)24 * 3600 * 1000000000)

/* Call this with each state of a pod in the cache. */
void shell_trouble_see(struct remembered *images, const cJSON *pod, int64_t now_ns);

/*
 * Returns whether a pod that is to be created in the namespace has an image without a shell, as far
 * as is known.
 */
bool shell_trouble_holds(const struct remembered *images, const char *namespace, const cJSON *pod,
			 int64_t now_ns);
