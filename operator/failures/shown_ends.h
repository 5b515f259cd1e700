/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which instances of a container the pod's status shows: the running one, and those whose
 * end it has. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Sets the middle of the time that the text means: "...:07Z" is any moment of that second. Returns
 * false if it is no time.
 */
bool end_time_parse(const char *text, int64_t *ret_ns);

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

/*
 * Returns whether the restart count is that of an instance after the one in lastState: it runs, has
 * ended, or was created and waits to be started. On a busy machine the kubelet shows the latter.
 */
bool shown_next_is_there(const cJSON *status);

/* Returns how many instances ended before the oldest shown one. */
int64_t shown_earlier(const cJSON *status);
