/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets liveness and readiness probes of a Ray container, as KubeRay does if the user has set none.
 */
#pragma once

#include <cjson/cJSON.h>

#include "operator/raycluster/names.h"

/*
 * ray_version is spec.rayVersion and may be NULL. From 2.53 on, one HTTP endpoint serves all
 * probes.
 */
void probes_add(cJSON *container, const cJSON *params, enum ray_node node, const char *ray_version);
