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
 * Does the same and parses the answer as JSON, which the caller owns. Returns -EPROTO if it is not
 * JSON.
 */
int sidecar_get_json(const struct kubectl *kubectl, const cJSON *pod, const char *path, cJSON **ret_json, struct err *err);
