/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar of a Ray pod, as the pod's JSON has it. Pure. */
#ifndef AFTERGLOW_PLUGIN_POD_SIDECAR_H
#define AFTERGLOW_PLUGIN_POD_SIDECAR_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The container "afterglow" of the pod, owned by pod; NULL: it has none. */
const cJSON *pod_sidecar(const cJSON *pod);

/* The word behind an option of the sidecar, or NULL. */
const char *pod_sidecar_value(const cJSON *sidecar, const char *option);
bool pod_sidecar_has_flag(const cJSON *sidecar, const char *option);

/* The port at which it serves HTTP; 0: none, as in the node's network. */
int pod_sidecar_port(const cJSON *sidecar);

/* An annotation or label of an object, whatever dots its name has; NULL: there is none. */
const char *annotation_of(const cJSON *object, const char *name);
const char *label_of(const cJSON *object, const char *name);

#endif
