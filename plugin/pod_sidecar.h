/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the sidecar and its options in the JSON of a Ray pod. Pure. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Returns the container "afterglow" of the pod, owned by pod; NULL if there is none. */
const cJSON *pod_sidecar(const cJSON *pod);

/*
 * Returns the argument after an option of the sidecar, owned by sidecar; NULL if the option is not
 * given.
 */
const char *pod_sidecar_value(const cJSON *sidecar, const char *option);
bool pod_sidecar_has_flag(const cJSON *sidecar, const char *option);

/* Returns the port at which it serves HTTP; 0 if it serves none, as in pods with hostNetwork. */
int pod_sidecar_port(const cJSON *sidecar);

/* Returns an annotation or label of an object, owned by it; NULL if there is none. */
const char *annotation_of(const cJSON *object, const char *name);
const char *label_of(const cJSON *object, const char *name);
