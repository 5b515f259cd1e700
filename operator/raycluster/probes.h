/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness and readiness of a Ray container, as KubeRay sets them when the user has none. */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_PROBES_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_PROBES_H

#include <cjson/cJSON.h>

#include "operator/raycluster/names.h"

/* ray_version is spec.rayVersion, may be NULL; from 2.53 on, one HTTP endpoint answers for all. */
void probes_add(cJSON *container, const cJSON *params, enum ray_node node, const char *ray_version);

#endif
