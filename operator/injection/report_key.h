/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a pod that is being created the key with which its sidecar signs what the operator reads
 * (lib/digest/report_mac.h). It stands in an annotation, from which only the sidecar's container
 * has it as a variable: whoever may read the pod has the key, and processes of the Ray container
 * have it only with such a right.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/digest/report_mac.h"

/* Makes a random key; "" if the machine has no randomness, and then nothing is signed. */
void report_key_new(char ret_key[static REPORT_KEY_LEN + 1]);

/*
 * Returns how processes of the Ray container could read the key, which the pod does not get then;
 * NULL: they cannot. The Ray container, or another one whose files they could reach, gets the
 * annotations of the pod as variables or files (the downward API); or they could read the sidecar's
 * memory.
 */
const char *report_key_leak(const cJSON *pod_spec, const cJSON *ray);

/* Sets the annotation of a pod that has the sidecar. key "": the pod stays as it is. */
void report_key_annotate(cJSON *pod, const char *key);

/*
 * Returns the key of a pod; NULL if it has none, because an older operator made it, or it would be
 * shared.
 */
const char *report_key_of(const cJSON *pod);
