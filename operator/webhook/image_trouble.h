/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers namespaces in which the sidecar's image cannot be pulled. KubeRay waits until all
 * containers of a pod run, so a pod with such a sidecar would keep its Ray cluster from ever being
 * ready. The next pods get no sidecar. Pure: time is an argument.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/webhook/remembered.h"

/* After this time the sidecar is tried again. */
#define IMAGE_TROUBLE_HOLD_NS ((int64_t)300 * 1000000000)

/*
 * Call this with each state of a pod in the cache: its sidecar waits for an image in vain, or runs,
 * or shows neither.
 */
void image_trouble_see(struct remembered *namespaces, const cJSON *pod, int64_t now_ns);
bool image_trouble_holds(const struct remembered *namespaces, const char *namespace,
			 int64_t now_ns);
