/* SPDX-License-Identifier: Apache-2.0 */
/* Why a container could not be started, which stands nowhere but in the kubelet's words. For this folder only; pure. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_START_ERROR_H
#define AFTERGLOW_OPERATOR_FAILURES_START_ERROR_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* Appends ": " and the cause to the sentence in a buffer of that size; nothing without a message (NULL is allowed) or room. */
void start_error_add(const cJSON *pod, const char *message, char *sentence, size_t size);

#endif
