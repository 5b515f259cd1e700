/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the sidecars of Ray pods, through the API server's proxy: it takes the right to get pods/proxy, and the API server has to reach the
 * pods. What comes back is the pod's word: bounded, and never trusted.
 */
#ifndef AFTERGLOW_PLUGIN_SIDECAR_HTTP_H
#define AFTERGLOW_PLUGIN_SIDECAR_HTTP_H

#include <cjson/cJSON.h>

#include "lib/strbuf.h"
#include "plugin/kubectl.h"

#define SIDECAR_ANSWER_MAX ((size_t)4 << 20) /* bytes */

/*
 * Appends what the pod's sidecar answers at that path, such as "memory"; answer's ceiling should be SIDECAR_ANSWER_MAX. -ENOENT: the pod has no
 * sidecar that serves HTTP; -EFBIG: the answer is larger than the ceiling; else as kubectl_stream.
 */
int sidecar_get(const struct kubectl *kubectl, const cJSON *pod, const char *path, struct strbuf *answer, struct err *err);

/* The same of JSON, which the caller owns. -EPROTO: it is none. */
int sidecar_get_json(const struct kubectl *kubectl, const cJSON *pod, const char *path, cJSON **ret_json, struct err *err);

#endif
