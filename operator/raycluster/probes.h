/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets liveness and readiness probes of a Ray container, as KubeRay does if the user has set none.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_PROBES_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_PROBES_H

#include <cjson/cJSON.h>

#include "operator/raycluster/names.h"

/*
 * ray_version is spec.rayVersion and may be NULL. From 2.53 on, one HTTP endpoint serves all
 * probes.
 */
void probes_add(cJSON *container, const cJSON *params, enum ray_node node, const char *ray_version);

#endif
