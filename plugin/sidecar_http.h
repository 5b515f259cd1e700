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

/*
 * Appends the answer of the pod's sidecar at that path, such as "memory"; the ceiling of answer
 * should be SIDECAR_ANSWER_MAX. Returns -ENOENT if the pod has no sidecar that serves HTTP, -EFBIG
 * if the answer is larger than the ceiling, and otherwise the errors of kubectl_stream.
 */
int sidecar_get(const struct kubectl *kubectl, const cJSON *pod, const char *path, struct strbuf *answer, struct err *err);

/*
 * Asks the pod's sidecar for the memory of the pod, and passes the answer, which fn takes over. Why there is none is said on stderr.
 * Returns how many bytes came.
 */
typedef void sidecar_memory_fn(void *arg, const cJSON *pod, cJSON *memory);
size_t sidecar_ask_memory(const struct kubectl *kubectl, const cJSON *pod, sidecar_memory_fn *fn,
			  void *arg);
/* Asks the pods of a list whose sidecars serve, or the one of that name (NULL: all), and returns how many it has asked. */
#define SIDECARS_ASKED_MAX 200 /* a kubectl process for each, so about 20 s in all */
#define SIDECARS_ANSWERS_MAX \
	((size_t)64 << 20) /* bytes of all; parsed, they take up to 27 times as many */
int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name, sidecar_memory_fn *fn, void *arg);
