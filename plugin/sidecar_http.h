/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests to the sidecars of Ray pods through the API server's proxy. The user needs the
 * right to get pods/proxy, and the API server must reach the pods. The answer comes from the pod,
 * so it is bounded and never trusted.
 */
#pragma once

#include <cjson/cJSON.h>

#include "plugin/kubectl.h"

/* Takes over memory, the answer of the pod's sidecar. */
typedef void sidecar_memory_fn(void *arg, const cJSON *pod, cJSON *memory);
/*
 * Asks the pods of a list whose sidecars serve, or the one of that name (NULL: all), for their
 * memory. Returns how many it has asked. Prints on stderr why one gave no answer.
 */
int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name,
			sidecar_memory_fn *fn, void *arg);
