/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests to the sidecars of Ray pods through the API server's proxy. The user needs the right
 * to get pods/proxy, and the API server must reach the pods. The answer comes from the pod, so it is
 * bounded and never trusted.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

#define SIDECAR_ANSWER_MAX ((size_t)4 << 20) /* bytes */

/* Gets the memory of a pod as its sidecar gives it, and owns it. */
typedef void sidecar_memory_fn(void *arg, const cJSON *pod, cJSON *memory);
/*
 * Asks the pods of a list whose sidecars serve, or the one of that name (NULL: all), for their
 * memory, and returns how many it has asked. Why one gave no answer is said on stderr.
 */
#define SIDECARS_ASKED_MAX 200 /* a kubectl process for each, so about 20 s in all */
#define SIDECARS_ANSWERS_MAX \
	((size_t)64 << 20) /* bytes of all; parsed, they take up to 27 times as many */
int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name, sidecar_memory_fn *fn, void *arg);
