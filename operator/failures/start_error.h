/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out why a container could not be started; only the kubelet's message says it. For this
 * folder only; pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

/*
 * Appends ": " and the cause to the sentence in a buffer of size bytes. Without a message (NULL) or
 * room it appends nothing.
 */
void start_error_add(const cJSON *pod, const char *message, char *sentence, size_t size);
