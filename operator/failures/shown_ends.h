/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which instances of a container the pod's status shows: the running one, and those whose
 * end it has. Only for this folder; pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

/* Returns the ContainerStatus of that container; NULL if there is none. */
const cJSON *shown_status(const cJSON *pod, const char *container);

/*
 * Returns when the oldest shown instance began, as the kubelet wrote it; NULL if that is not known.
 */
const char *shown_oldest_text(const cJSON *status);

/*
 * Returns the same in nanoseconds since 1970, in the middle of the second that the kubelet wrote; 0
 * if that is not known.
 */
int64_t shown_oldest_start(const cJSON *status);

/* Returns how many instances ended before the oldest shown one. */
int64_t shown_earlier(const cJSON *status);
