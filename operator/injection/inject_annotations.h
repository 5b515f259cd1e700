/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the settings in the annotations of a RayCluster and of a pod's template. They override the
 * policy, and the template overrides the RayCluster. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/policy/policy.h"

/* On a pod or a RayCluster: "false" leaves the sidecar out. */
#define INJECT_ANNOTATION "afterglow.dev/inject"

/*
 * Returns whether the annotations of the cluster and the template leave the sidecar on.
 */
bool inject_wanted(const cJSON *cluster_annotations, const cJSON *template_annotations);

/* Returns the value of afterglow.dev/oom-group, otherwise the policy's. */
bool inject_oom_group(const cJSON *cluster_annotations, const cJSON *template_annotations,
		      const struct policy *policy);

/*
 * Returns the value of afterglow.dev/start-prefix, words to start the command with ("memray run -o
 * /tmp/memray-ray.bin"); NULL if there are none.
 */
const char *inject_prefix(const cJSON *cluster_annotations, const cJSON *template_annotations);

/*
 * Returns the value of afterglow.dev/hold-on-failure in seconds, otherwise the policy's. A text
 * that is not a valid number counts as absent.
 */
int64_t inject_hold(const cJSON *cluster_annotations, const cJSON *template_annotations,
		    const struct policy *policy);
